"""Results as pages and pictures: an episode, a campaign, an audit, the region and the rates of a task, an arm."""
