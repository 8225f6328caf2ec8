"""The panels of the page: each draws one part of a show, and passes on what people do."""
