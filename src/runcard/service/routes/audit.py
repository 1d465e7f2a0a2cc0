"""The audit log of the service: whether the model still fits, and the log as a table."""

from runcard.service.audit.routes import audit_router
from runcard.service.parts import parts_of

router = audit_router(
    lambda request: parts_of(request).audit,
    lambda request: parts_of(request).store.serving.city.name,
)
