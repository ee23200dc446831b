"""Notifications: their text, where they may go, and the program that sends them. Decides nothing about jobs."""
