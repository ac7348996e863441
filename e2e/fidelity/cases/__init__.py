"""What is compared: each public coroutine function is a case, which sends requests to a server through a player."""
