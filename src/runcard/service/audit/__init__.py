"""The audit log: every recommendation, what the dispatcher really did, and whether the model still fits."""

from runcard.service.audit.log import AuditLog, open_audit

__all__ = ["AuditLog", "open_audit"]
