"""N worlds of one scene, advanced one control tick at a time. Only this room steps physics."""
