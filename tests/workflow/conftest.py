"""Where other tests find the small project."""

from small_project import Project, make_project

__all__ = ["Project", "make_project"]
