"""What if: changes of a department, and what they change."""
