package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// roster returns the enrolled parties that have all the wanted tags. The plan lists them by name,
// so later changes of tags do not affect the study.
func (o *operator) roster(ctx context.Context, client *admin.Client,
	tags map[string]string) ([]study.PartyID, error) {
	wanted := admin.Tags(tags)
	if err := wanted.Check(); err != nil {
		return nil, study.PlanError("roster", "%v", err)
	}
	members, err := client.Members(ctx)
	if err != nil {
		return nil, err
	}
	var roster []study.PartyID
	var parties int
	var waiting []string
	for _, m := range members {
		if m.Role != protocol.RoleParty {
			continue
		}
		if m.Status == admin.StatusEnrolled {
			parties++
		}
		switch {
		case !m.Tags.Include(wanted):
		case m.Status == admin.StatusEnrolled:
			roster = append(roster, study.PartyID(m.Name))
		case m.Status == admin.StatusInvited:
			waiting = append(waiting, m.Name)
		}
	}
	switch {
	case parties == 0:
		return nil, errors.New("no party is enrolled yet: invite some with caucus party invite, or name a --roster")
	case len(roster) == 0:
		return nil, fmt.Errorf("roster: none of %d enrolled parties is tagged %s: caucus party list shows each party's tags, caucus party tag sets them", parties, wanted)
	case len(wanted) > 0:
		o.Note("roster: the plan names the %d enrolled parties that are tagged %s now: %s", len(roster), wanted, few(roster))
		if len(waiting) > 0 {
			o.Note("note: these have the tags too, but are not enrolled yet, and so not on the roster: %s", few(waiting))
		}
	}
	return roster, nil
}

// few shows the first names of a long list.
func few[T ~string](names []T) string {
	const most = 12
	var some []string
	for _, n := range names[:min(most, len(names))] {
		some = append(some, string(n))
	}
	text := strings.Join(some, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
