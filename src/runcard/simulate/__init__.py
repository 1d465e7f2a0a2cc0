"""The event simulation: any policy on any city, in scenarios that break the model's assumptions on purpose."""
