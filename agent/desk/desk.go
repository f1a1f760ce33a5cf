package desk

import (
	"context"

	"caucus/agent/site"
)

// Desk is where a person of a site reads what is asked of it, and says yes or no.
type Desk struct {
	site *site.Site
	// refresh learns new plans from the coordinator, unless an agent that runs does that.
	refresh func(context.Context) error
}

// New is the desk of an open state folder.
func New(s *site.Site, refresh func(context.Context) error) *Desk { return &Desk{s, refresh} }
