"""From an estimate to a grasp that can be executed, or the reason why not; and evidence that a hold is a hold."""
