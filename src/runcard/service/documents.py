"""What goes in and out of the API, as its description (OpenAPI) shows it."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, Strict, model_validator

Id = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(max_length=200)]
Coordinate = Annotated[float, Strict()]
"""A number; no word for one, and no true, which would be another place."""
Status = Literal["idle", "busy", "out_of_service"]


class Given(BaseModel):
    """A document that a client sends: what is not known in it is refused, so that no misspelt word is passed over."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class PlaceDocument(Given):
    """A node of the roads, or coordinates as the city has them (longitude, latitude) of the nearest node."""

    node: Id | None = None
    x: Coordinate | None = None
    y: Coordinate | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.x is None) != (self.y is None) or (self.node is None) == (self.x is None):
            raise ValueError("expected a node, or x and y")
        return self

    @property
    def place(self) -> str | tuple[float, float]:
        """As the library takes it."""
        return self.node if self.node is not None else (self.x or 0.0, self.y or 0.0)


class DecisionRequest(Given):
    """An incident: where, of which type, and which units are free.

    Where: one of `area` (a demand point), `node` (any node of the roads) and `x`, `y`. Free units: those in `idle`, or
    all but those in `busy` and those that the status board has out of service; with both, each unit must be in one of
    them; with neither, those that the board has idle. A note says where the board has it otherwise.
    """

    area: Id | None = Field(default=None, description="The demand point of the incident.", examples=["old-d2"])
    node: Id | None = Field(default=None, description="Any node of the roads instead.")
    x: Coordinate | None = Field(default=None, description="Coordinates instead: x, or the longitude.")
    y: Coordinate | None = Field(default=None, description="y, or the latitude.")
    type: Id | None = Field(default=None, description="The type; may be left out where there is only one.")
    row: int | None = Field(
        default=None, alias="class", ge=1, le=10_000,
        description="In a city without types: which row of the demand point, from 1, where it has several.",
    )  # fmt: skip
    idle: list[Id] | None = Field(default=None, max_length=5_000, description="The free units.")
    busy: list[Id] | None = Field(
        default=None, max_length=5_000, description="The busy units instead; all others in service are free."
    )
    moved: dict[Id, PlaceDocument] | None = Field(
        default=None, max_length=5_000,
        description="Where free units are that are not at home; of others the board says it.",
    )  # fmt: skip
    period: Id | None = Field(default=None, description="The period of the week, where the policy has some.")
    time: datetime | None = Field(default=None, description="When, instead of now: it tells the period.")
    policy: Id | None = Field(default=None, description="A loaded policy by name, instead of the one that answers.")
    policy_version: Id | None = Field(default=None, description="Refuse (409) to answer by any other version.")
    board_version: int | None = Field(default=None, description="Refuse (409) to answer by any other board.", ge=0)
    reference: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="The caller's own number of the incident; kept in the audit log."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        named = (self.area is not None) + (self.node is not None) + (self.x is not None or self.y is not None)
        if named != 1 or (self.x is None) != (self.y is None):
            raise ValueError("expected one of area, node, and x with y")
        if self.period is not None and self.time is not None:
            raise ValueError("expected a period or a time, got both")
        if self.board_version is not None and (self.idle is not None or self.busy is not None):
            raise ValueError("expected board_version only where the board says which units are free")
        return self

    @property
    def place(self) -> str | tuple[float, float]:
        """Where the incident is, as the library takes it."""
        known = self.area or self.node
        return known if known is not None else (self.x or 0.0, self.y or 0.0)


class StandardChance(BaseModel):
    """A standard: of the units of the kind, `arrivals` within `target_minutes`; and the chance to meet it."""

    arrivals: int
    target_minutes: float
    weight: float
    chance: float
    rule: str = Field(default="", description="The standard in words.")
    mean_minutes: float | None = Field(default=None, description="Until the arrival that it is about; null if unknown.")
    p90_minutes: float | None = Field(default=None, description="9 times of 10 it is there by then.")


class TeamOption(BaseModel):
    """Units that could go instead, the better ones first."""

    units: list[str]
    p_late: float = Field(description="The chance to be late, or the weighted sum of the standards missed.")
    first_minutes: float | None = None
    last_minutes: float | None = None
    price: float | None = Field(description="What taking these units now costs later; null where it is not known.")


class KindAnswer(BaseModel):
    """What one kind of units sends."""

    kind: str
    units: list[str] = Field(description='"outside" for each that must come from another department.')
    p_late: float
    first_minutes: float | None = Field(description="The mean time of the first arrival; null where it is not known.")
    first_p90_minutes: float | None = Field(default=None, description="9 times of 10 it is there by then.")
    last_minutes: float | None = Field(default=None, description="The same of the last unit of this kind.")
    last_p90_minutes: float | None = None
    price: float | None
    standards: list[StandardChance]
    alternatives: list[TeamOption]
    reason: str = Field(default="", description="Why these units go, in one sentence.")


class PolicyUsed(BaseModel):
    """Which policy answered."""

    name: str
    version: str
    period: str | None


class DecisionAnswer(BaseModel):
    """Who goes, and why."""

    decision_id: str
    reference: str | None = Field(description="The caller's own number of the incident, as it was sent.")
    time: datetime
    node: str
    area: str = Field(description="The demand point of the node, or the closest one by road.")
    type: str
    team: list[str] = Field(description="The units of all kinds.")
    units: dict[str, list[str]] = Field(description="The units of each kind.")
    p_late: float
    price: float | None
    kinds: list[KindAnswer]
    reason: str = Field(description="Why these units go, in one sentence for each kind.")
    notes: list[str] = Field(description="What else is to be known, such as how far the nearest node is.")
    policy: PolicyUsed
    board_version: int
    idle: list[str] = Field(description="The units that counted as free.")
    moved: dict[str, PlaceDocument] = Field(description="Where those of them were that were not at home.")
    answered_by: str = Field(description="The method, such as optimal, closest-first or fixed-card.")
    fallback: bool = Field(description="Whether the policy could not answer, and the fallback did.")
    fallback_reason: str | None
    fallback_version: str | None = Field(description="The version of the file of the fallback, where it answered.")


class OutcomeRequest(Given):
    """What was really done: the units sent, when they arrived, and who decided otherwise and why.

    After the first one, an outcome may hold only what is new.
    """

    units: list[Id] | None = Field(
        default=None, max_length=1_000, description="The units that were really sent; as said before if left out."
    )
    sent: AwareDatetime | None = Field(default=None, description="When; the time of the decision if left out.")
    arrivals: dict[Id, AwareDatetime | None] = Field(
        default_factory=dict, max_length=1_000, description="When units were there; null takes a time back."
    )
    cancelled: dict[Id, AwareDatetime | None] = Field(
        default_factory=dict, max_length=1_000, description="When units were called back before that."
    )
    overridden_by: Annotated[str, Field(max_length=200)] | None = None
    override_reason: Annotated[str, Field(max_length=2_000)] | None = None


class OutcomeDocument(BaseModel):
    """An outcome as the audit log has it."""

    units: list[str] | None = None
    sent: datetime | None = None
    arrivals: dict[str, datetime | None] = Field(default_factory=dict)
    cancelled: dict[str, datetime | None] = Field(default_factory=dict)
    overridden_by: str | None = None
    override_reason: str | None = None
    kinds: dict[str, str] = Field(default_factory=dict, description="The kind of every unit that was sent.")
    recorded: datetime


class DecisionRecord(DecisionAnswer):
    """A decision as the audit log has it."""

    request: DecisionRequest
    asked_by: str = Field(description="The name of the key; empty where there are none.")
    outcomes: list[OutcomeDocument] = Field(description="What was recorded since, as it was told.")
    outcome: OutcomeDocument | None = Field(description="What counts: all of them together.")


class DecisionList(BaseModel):
    """Decisions of the audit log, the latest first."""

    decisions: list[DecisionRecord]


class OutcomeRecorded(BaseModel):
    """The outcome is durable."""

    decision_id: str
    followed: bool = Field(description="Whether the units that were sent are those of the answer.")


class PolicyDocument(BaseModel):
    """A loaded policy."""

    name: str
    version: str
    method: str = Field(description="Such as optimal, one-step-mean-field or closest-first.")
    serving: bool = Field(description="Whether it answers where none is named.")
    file: str | None
    loaded_at: datetime
    periods: list[str]
    slow: bool = Field(description="Whether its answers are computed beside the others, with the time limit.")
    changed_on_disk: bool = Field(description="Whether the file is another one now than the one that was loaded.")


class PolicyList(BaseModel):
    """The loaded policies."""

    city: str
    types: list[str]
    policies: list[PolicyDocument]


class PolicyFile(Given):
    """A policy file to load: its name in the folder of the file that was served first."""

    file: Id
    name: Id | None = Field(default=None, description="Its name here; that of the file without its ending if left out.")
    serve: bool = Field(default=True, description="Whether it answers from now on.")


class UnitUpdate(Given):
    """What a unit does. A free unit is at home unless it is said where it is."""

    status: Status
    node: Id | None = None
    x: Coordinate | None = None
    y: Coordinate | None = None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if (self.x is None) != (self.y is None) or (self.node is not None and self.x is not None):
            raise ValueError("expected a node, or x and y, or neither")
        if self.status != "idle" and (self.node is not None or self.x is not None):
            raise ValueError("expected a place only of an idle unit")
        return self

    @property
    def place(self) -> str | tuple[float, float] | None:
        """Where it is, if not at home."""
        if self.x is not None and self.y is not None:
            return self.x, self.y
        return self.node


class BoardUpdate(Given):
    """What every unit does: all units of the roster are in it, since one that is missing would be taken for free."""

    units: dict[Id, UnitUpdate] = Field(
        max_length=5_000, examples=[{"E01": {"status": "busy"}, "E02": {"status": "idle"}}]
    )


class UnitDocument(BaseModel):
    """A unit on the status board."""

    unit: str
    kind: str
    station: str
    status: Status
    node: str | None = Field(description="Where it is free, if not at home.")
    x: float | None
    y: float | None
    since: datetime
    told: bool = Field(description="Whether anybody has said so; a unit of which nobody has is taken as free.")


class UnitChange(BaseModel):
    """A unit, and the version of the board that it changed to."""

    board_version: int
    unit: UnitDocument


class BoardDocument(BaseModel):
    """Every unit."""

    board_version: int
    units: list[UnitDocument]


class SceneRequest(Given):
    """A state, and the two policies that are compared in it."""

    model_config = ConfigDict(strict=True)

    policy: Name | None = Field(default=None, description="The one that answers, if left out.")
    other: Name | None = Field(default=None, description="What it is compared with; closest-first if left out.")
    type: Name | None = Field(default=None, description="A type of incident; the first one if left out.")
    period: Name | None = Field(default=None, description="A period of the week; the first one if left out.")
    busy: list[Name] = Field(default_factory=list, max_length=10_000, description="The busy units.")


class RouteRequest(SceneRequest):
    """The same for one area."""

    area: Name


class Health(BaseModel):
    """The process is alive."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """The service can answer."""

    status: Literal["ready"]
    policy: PolicyUsed
    board_version: int


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """How the description of the API shows a body that a route reads itself."""
    reference = f"#/components/schemas/{model.__name__}"
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": reference}}}}}
