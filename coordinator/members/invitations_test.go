package members_test

import (
	"context"
	"encoding/pem"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/server"
)

func invite(t *testing.T, w *world, o admin.InviteOptions) protocol.Invitation {
	t.Helper()
	text, expires, err := w.operator.Invite(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	v := must(protocol.ParseInvitation(" " + text[:40] + "\n" + text[40:] + "\n"))
	if !v.Expires.Truncate(time.Millisecond).Equal(expires) || v.Name != o.Name {
		t.Errorf("invitation says %s for %s, the answer %s", v.Expires, v.Name, expires)
	}
	return v
}

// TestInvitations: an invitation works once, until it expires. After a lost answer, it works again
// with the same key.
func TestInvitations(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	options := protocol.DialOptions{Now: w.clock.Now}
	v := invite(t, w, admin.InviteOptions{Name: "site", Valid: time.Hour})
	key := must(protocol.NewEnrolment())
	id := must(protocol.Enrol(ctx, v, key, options))
	if caller := must(id.Caller()); caller.Name != "site" || caller.Role != protocol.RoleParty {
		t.Errorf("enrolled as %+v", caller)
	}
	if again := must(protocol.Enrol(ctx, v, key, options)); !reflect.DeepEqual(again, id) {
		t.Error("the same key again got another certificate")
	}
	if _, err := protocol.Enrol(ctx, v, must(protocol.NewEnrolment()), options); !errors.Is(err,
		protocol.ErrDenied) || !strings.Contains(err.Error(), "used already") {
		t.Errorf("second use: %v", err)
	}
	late := invite(t, w, admin.InviteOptions{Name: "late", Valid: time.Minute})
	withdrawn := invite(t, w, admin.InviteOptions{Name: "withdrawn"})
	must(0, w.operator.Revoke(ctx, "withdrawn"))
	if _, err := protocol.Enrol(ctx, withdrawn, key, options); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("withdrawn: %v", err)
	}
	w.clock.add(2 * time.Minute)
	if _, err := protocol.Enrol(ctx, late, key, options); !errors.Is(err, protocol.ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	if again := must(protocol.Enrol(ctx, v, key, options)); !reflect.DeepEqual(again, id) {
		t.Error("a lost answer cannot be asked again")
	}
	if _, _, err := w.operator.Invite(ctx,
		admin.InviteOptions{Name: "operator"}); !errors.Is(err, protocol.ErrExists) {
		t.Errorf("a party named as an operator: %v", err)
	}
	for _, name := range []string{"", "a b", "../x", strings.Repeat("x", 64), "-a"} {
		if _, _, err := inviteName(w, name); !errors.Is(err, protocol.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	statuses := map[string]string{}
	for _, m := range must(w.operator.Members(ctx)) {
		statuses[m.Name] = m.Status
	}
	for name, want := range map[string]string{"operator": admin.StatusEnrolled,
		"site": admin.StatusEnrolled, "late": admin.StatusExpired,
		"withdrawn": admin.StatusRevoked} {
		if statuses[name] != want {
			t.Errorf("%s is %q, want %q", name, statuses[name], want)
		}
	}
	// A second operator is invited like a party.
	second := must(protocol.Enrol(ctx,
		invite(t, w, admin.InviteOptions{Name: "second", Role: protocol.RoleOperator}),
		must(protocol.NewEnrolment()), options))
	c := w.dial(second)
	defer c.Close()
	if _, err := c.Members(ctx); err != nil {
		t.Errorf("second operator: %v", err)
	}
}

func inviteName(w *world, name string) (string, time.Time, error) {
	return w.operator.Invite(context.Background(), admin.InviteOptions{Name: name})
}

// TestStrangers: callers that are unknown, revoked, expired or of another authority are refused
// with a typed error. If a clock is wrong, the error says so.
func TestStrangers(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	other := newWorld(t, nil)
	options := protocol.DialOptions{Now: w.clock.Now}
	id := must(protocol.Enrol(ctx, invite(t, w, admin.InviteOptions{Name: "site"}),
		must(protocol.NewEnrolment()), options))
	list := func(id protocol.Identity, o protocol.DialOptions) error {
		o.Coordinator = w.address
		if o.Now == nil {
			o.Now = w.clock.Now
		}
		c := must(admin.Dial(id, o))
		defer c.Close()
		_, err := c.Studies(ctx)
		return err
	}
	at := func(d time.Duration) protocol.DialOptions {
		return protocol.DialOptions{Now: func() time.Time { return w.clock.Now().Add(d) }}
	}
	// A certificate from the other authority.
	foreign := must(protocol.Enrol(ctx, invite(t, other, admin.InviteOptions{Name: "site"}),
		must(protocol.NewEnrolment()), options))
	mixed := foreign
	mixed.CA = id.CA
	// A certificate from the right authority that is not in the store.
	unknown, _, err := w.authority.IssueFirstOperator("",
		protocol.Caller{Name: "ghost", Role: protocol.RoleOperator}, id.Signer, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		id   protocol.Identity
		o    protocol.DialOptions
		want error
		text string
	}{
		"known":                  {id, protocol.DialOptions{}, nil, ""},
		"an hour behind":         {id, at(-time.Hour), nil, ""},
		"a day ahead":            {id, at(24 * time.Hour), nil, ""},
		"a year behind":          {id, at(-365 * 24 * time.Hour), protocol.ErrClock, "set the clock"},
		"a year ahead":           {id, at(365 * 24 * time.Hour), protocol.ErrClock, "set the clock"},
		"another coordinator":    {foreign, protocol.DialOptions{}, protocol.ErrDenied, "not the coordinator that invited"},
		"another's certificate":  {mixed, protocol.DialOptions{}, protocol.ErrDenied, "authority"},
		"certificate, not known": {unknown, protocol.DialOptions{}, protocol.ErrDenied, "does not admit this certificate"},
	} {
		if err := list(c.id, c.o); !errors.Is(err, c.want) || err != nil &&
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v saying %q", what, err, c.want, c.text)
		}
	}
	must(0, w.operator.Revoke(ctx, "site"))
	if err := list(id, protocol.DialOptions{}); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "revoked") {
		t.Errorf("revoked: %v", err)
	}
	// After a second invitation, the party has a new certificate. The old one stays revoked.
	again := must(protocol.Enrol(ctx, invite(t, w, admin.InviteOptions{Name: "site"}),
		must(protocol.NewEnrolment()), options))
	if err := list(again, protocol.DialOptions{}); err != nil {
		t.Errorf("enrolled again: %v", err)
	}
	if err := list(id, protocol.DialOptions{}); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("old certificate after enrolling again: %v", err)
	}
	c := w.dial(again)
	renewed := must(c.Renew(ctx))
	c.Close()
	if err := list(renewed, protocol.DialOptions{}); err != nil ||
		reflect.DeepEqual(renewed, again) {
		t.Errorf("renewed: %v", err)
	}
	c = w.dial(again)
	if err := c.Revoke(ctx, "operator"); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a party revokes: %v", err)
	}
	c.Close()
	if err := w.operator.Revoke(ctx, "nobody"); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("revoke nobody: %v", err)
	}
	// The certificate has expired by the coordinator's clock, but not by the party's. The
	// coordinator's own certificate is always valid by its own clock, and for a party that is less
	// than two days behind.
	leaf := server.MemberValidity
	w.clock.add(leaf + time.Hour)
	if err := list(again, at(-2*time.Hour)); !errors.Is(err, protocol.ErrClock) ||
		!strings.Contains(err.Error(), "by its clock") {
		t.Errorf("expired: %v", err)
	}
	if !strings.Contains(w.log.String(), `"reason":"DENIED"`) {
		t.Error("refusals are not logged")
	}
}

// TestRenewalsAreLimited: a member that renews again and again fills neither the store nor the log.
// It may renew again on the next day.
func TestRenewalsAreLimited(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	c := w.enrol("site")
	for i := range 2 * 16 {
		if _, err := c.Renew(ctx); (err == nil) != (i < 16-1) || err != nil &&
			!errors.Is(err, protocol.ErrBusy) {
			t.Fatalf("renewal %d: %v", i+1, err)
		}
	}
	w.clock.add(25 * time.Hour)
	if _, err := c.Renew(ctx); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

// makeToken makes a join token and reads it as an agent would.
func makeToken(t *testing.T, c *admin.Client, o admin.TokenOptions) (protocol.Invitation,
	admin.Token) {
	t.Helper()
	text, k, err := c.MakeToken(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	v := must(protocol.ParseInvitation(text))
	if v.Role != protocol.RoleToken || v.Name != k.ID || v.Prefix != k.Prefix ||
		k.Status != admin.TokenOpen || k.Used != 0 || k.By != "operator" {
		t.Errorf("token %+v says %s %s, names %s", k, v.Role, v.Name, v.Prefix)
	}
	return v, k
}

// TestJoinTokens: a token's holder gets a name and a certificate, once for each key, with the
// token's tags, and only within its prefix, quota and time. No holder gets an existing member's
// name.
func TestJoinTokens(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	options := protocol.DialOptions{Now: w.clock.Now}
	w.enrol("dev-old")
	v, k := makeToken(t, w.operator,
		admin.TokenOptions{Quota: 4, Valid: time.Hour, Prefix: "dev-",
			Tags: admin.Tags{"site": "ward"}})
	join := func(e protocol.Enrolment, name string) (protocol.Identity, string, error) {
		id, err := protocol.Join(ctx, v, e, name, options)
		if err != nil {
			return id, "", err
		}
		caller := must(id.Caller())
		if caller.Role != protocol.RoleParty {
			t.Errorf("joined as %+v", caller)
		}
		return id, caller.Name, nil
	}
	key := must(protocol.NewEnrolment())
	first, name, err := join(key, "dev-17")
	if err != nil || name != "dev-17" {
		t.Fatalf("joined as %q: %v", name, err)
	}
	for _, wish := range []string{"dev-17", ""} { // the answer to the first request was lost
		if again, _, err := join(key, wish); err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("the same key again, as %q: another certificate, or %v", wish, err)
		}
	}
	given := must(protocol.NewEnrolment())
	if _, name, err = join(given, ""); err != nil || !strings.HasPrefix(name, "dev-") ||
		len(name) != len("dev-")+8 {
		t.Errorf("was given the name %q: %v", name, err)
	}
	for what, c := range map[string]struct {
		key  protocol.Enrolment
		name string
		want error
	}{
		"another name for one key":      {key, "dev-18", protocol.ErrExists},
		"a name that is taken":          {must(protocol.NewEnrolment()), "dev-17", protocol.ErrExists},
		"a name but for case":           {must(protocol.NewEnrolment()), "dev-OLD", protocol.ErrExists},
		"a name of who was invited":     {must(protocol.NewEnrolment()), "dev-old", protocol.ErrExists},
		"a name that is no name":        {must(protocol.NewEnrolment()), "dev-/..", protocol.ErrInvalid},
		"the prefix and nothing beside": {must(protocol.NewEnrolment()), "dev-", protocol.ErrDenied},
	} {
		if _, _, err := join(c.key, c.name); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	unbound := v
	unbound.Prefix = "" // the agent's copy of the prefix binds nobody
	if _, err := protocol.Join(ctx, unbound, must(protocol.NewEnrolment()), "operator",
		options); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a name beyond the prefix: %v", err)
	}
	if tokens := must(w.operator.Tokens(ctx)); len(tokens) != 1 || tokens[0].Used != 2 ||
		tokens[0].Status != admin.TokenOpen {
		t.Errorf("tokens %+v", tokens)
	}
	for _, m := range must(w.operator.Members(ctx)) {
		came := strings.HasPrefix(m.Name, "dev-") && m.Name != "dev-old"
		if (m.Token == k.ID) != came || (m.Tags.String() == "site=ward") != came {
			t.Errorf("member %+v", m)
		}
	}
	// Members that joined by the token may call. The token itself may not.
	member := w.dial(first)
	defer member.Close()
	if _, err := member.Studies(ctx); err != nil {
		t.Errorf("who joined calls: %v", err)
	}
	asMember := first
	asMember.Certificate, asMember.Key = pemOfToken(v)
	bare := w.dial(asMember)
	defer bare.Close()
	if _, err := bare.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a token asks for studies: %v", err)
	}
	// Nobody else gets a name that a token's holder chose.
	if _, _, err := inviteName(w, "dev-17"); !errors.Is(err, protocol.ErrExists) {
		t.Errorf("invited under the name of who joined: %v", err)
	}
	if err := w.operator.Tag(ctx, "dev-17", admin.Tags{"site": "theatre"}); err != nil {
		t.Error(err)
	}
	if err := w.operator.Tag(ctx, "operator", nil); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("an operator is tagged: %v", err)
	}
	w.clock.add(2 * time.Hour)
	if _, _, err := join(must(protocol.NewEnrolment()), ""); !errors.Is(err, protocol.ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	if again, _, err := join(key, ""); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("the same key after the end: %v", err)
	}
	w.clock.add(24 * time.Hour)
	if _, _, err := join(key, ""); !errors.Is(err, protocol.ErrExpired) {
		t.Errorf("a day after the end: %v", err)
	}
	for _, o := range []admin.TokenOptions{
		{}, {Quota: 1_000_000 + 1}, {Quota: 1, Prefix: "-x"}, {Quota: 1, Prefix: strings.Repeat("x", 40+1)},
		{Quota: 1, Valid: 91 * 24 * time.Hour}, {Quota: 1, Tags: admin.Tags{"a b": "c"}},
		{Quota: 1, Address: "nowhere"},
	} {
		if _, _, err := w.operator.MakeToken(ctx, o); !errors.Is(err, protocol.ErrInvalid) {
			t.Errorf("token %+v: %v", o, err)
		}
	}
}

// pemOfToken is a token's certificate and key.
func pemOfToken(v protocol.Invitation) (certificate, key string) {
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", v.Certificate), text("PRIVATE KEY", v.Key)
}
