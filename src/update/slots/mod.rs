//! What the agent knows of the slots, and what follows from it at each boot.
