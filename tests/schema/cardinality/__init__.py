"""Values where they are few."""
