package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"caucus/agent"
	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/aggregator/helper"
	"caucus/coordinator"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/internal/csvfile"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// federation runs a coordinator, a helper and agents as daemons in one process, with mutual TLS
// over loopback and their stores and ledgers in files.
type federation struct {
	dir      string
	roster   []study.PartyID // clinics, then devices
	agents   []site.Config
	operator *admin.Client
	stop     context.CancelFunc
	daemons  *errgroup.Group
	// guards no field: a coordinator limits how many calls an operator has at the same time
	turns sync.Mutex
}

// policyOf is the policy of each demo party. It is generous, because the data are public, but it is
// enforced. All limits count labels, the finest unit that the demo's studies hide.
func policyOf(epsilon float64, schema dataset.Schema) policy.Policy {
	one := privacy.Budget{Epsilon: epsilon, Delta: 1e-5}
	all := privacy.Budget{Epsilon: mostStudies * epsilon, Delta: 1e-4}
	return policy.Policy{
		Kinds: kinds.Names(), Mechanisms: kinds.Mechanisms(),
		Noise:      study.Noises(),
		StudyLimit: map[privacy.Unit]privacy.Budget{privacy.Party: one, privacy.Record: one, privacy.Label: one},
		TotalLimit: map[privacy.Unit]privacy.Budget{privacy.Label: all}, MinEpsilon: min(epsilon, .05),

		ClearColumns: schema.FeatureColumns(), MinimumParties: 2, Approval: policy.ApproveByPolicy,
	}
}

// mostStudies is the limit of an agent's spending, as a multiple of one study's ε. A demo runs
// fewer studies, whose costs add up to slightly more than their number times ε.
const mostStudies = 11

const pollEvery = 500 * time.Millisecond

// leastWindow is the least time to prepare; it is short because the records are public.
const leastWindow = time.Second

// found makes a coordinator and enrols an agent for each party by invitation.
func (o Options) found(ctx context.Context, dir string, data dealt) (*federation, error) {
	allowed, log := policyOf(o.Epsilon, data.schema), o.Log
	f := &federation{dir: dir}
	home := filepath.Join(dir, "coordinator")
	if err := folder.Init(folder.InitOptions{Dir: home, Listen: "127.0.0.1:0"}); err != nil {
		return nil, err
	}
	second, pins, err := foundHelper(dir, home, allowed, log)
	if err != nil {
		return nil, err
	}
	allowed.Helper = policy.Helper{Name: "the demo's helper", Signing: pins.Signing,
		Sealing: pins.Sealing}
	config, err := folder.LoadConfig(filepath.Join(home, folder.ConfigFile))
	if err != nil {
		return nil, errors.Join(err, second.Close())
	}
	config.CheckInterval, config.WitnessWait, config.Log, config.Software = 200*time.Millisecond,
		2*pollEvery, log, o.Software
	server, err := coordinator.New(config)
	if err != nil {
		return nil, errors.Join(err, second.Close())
	}
	ctx, f.stop = context.WithCancel(ctx)
	f.daemons, ctx = errgroup.WithContext(ctx)
	f.daemons.Go(func() error { return second.Run(ctx) })
	f.daemons.Go(func() error { return server.Run(ctx) })
	if err := f.enrol(ctx, server.Addr(), home, data, allowed); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// foundHelper makes a helper and names it to the coordinator. A real helper belongs to another
// organisation, and agents get its keys (pins) in other ways.
func foundHelper(dir, home string, allowed policy.Policy, log *slog.Logger) (*helper.Server,
	helper.Pins, error) {
	made, err := folder.MakeHelper(home, "", "")
	if err != nil {
		return nil, helper.Pins{}, err
	}
	second := filepath.Join(dir, "helper")
	pins, err := helper.Init(helper.InitOptions{Dir: second, Listen: "127.0.0.1:0",
		Coordinator: made.Key.String()})
	if err != nil {
		return nil, pins, err
	}
	config, err := helper.LoadConfig(second)
	if err != nil {
		return nil, pins, err
	}
	config.Log, config.Policy.Study, config.Policy.MinimumParties = log, allowed.StudyLimit,
		allowed.MinimumParties
	s, err := helper.New(config)
	if err != nil {
		return nil, pins, err
	}
	if _, err := folder.MakeHelper(home, s.Addr(), pins.Signing.String()); err != nil {
		return nil, pins, errors.Join(err, s.Close())
	}
	return s, pins, nil
}

func (f *federation) enrol(ctx context.Context, address, home string, data dealt,
	allowed policy.Policy) error {
	profile, err := protocol.LoadIdentity(filepath.Join(home, folder.OperatorFile))
	if err != nil {
		return err
	}
	if f.operator, err = admin.Dial(profile,
		protocol.DialOptions{Coordinator: address}); err != nil {
		return err
	}
	for i := range data.clinics {
		f.roster = append(f.roster, study.PartyID(fmt.Sprintf("clinic-%02d", i+1)))
	}
	for i := range data.devices {
		f.roster = append(f.roster, study.PartyID(fmt.Sprintf("device-%03d", i+1)))
	}
	f.agents = make([]site.Config, len(f.roster))
	enrolment, enrolled := errgroup.WithContext(ctx)
	enrolment.SetLimit(4)
	for i := range f.agents {
		enrolment.Go(func() error {
			c := site.DefaultConfig()
			c.Coordinator, c.Poll, c.MinWindow, c.Policy = address, pollEvery, leastWindow,
				allowed
			c.State = filepath.Join(f.dir, string(f.roster[i]))
			if err := os.MkdirAll(c.State, 0o700); err != nil {
				return err
			}
			c.Data = map[string]source.Source{}
			tables := map[string]*dataset.Table{}
			if i < len(data.clinics) {
				tables[recordsSource], tables[wardsSource] = data.clinics[i], data.wards[i]
				tables[followupSource] = data.followup[i]
			} else {
				tables[recordsSource] = data.devices[i-len(data.clinics)]
			}
			for name, table := range tables {
				s := data.schema
				if name == followupSource {
					s = followupSchema()
				}
				file, schema := filepath.Join(c.State, name+".csv"),
					filepath.Join(c.State, name+".yaml")
				text, err := s.YAML()
				if err != nil {
					return err
				}
				if err := errors.Join(os.WriteFile(schema, text, 0o600),
					writeCSV(file, table)); err != nil {
					return err
				}
				c.Data[name] = source.Source{File: file, Schema: schema}
			}
			invitation, err := f.invite(enrolled, string(f.roster[i]), address)
			if err != nil {
				return err
			}
			if _, err := agent.Enrol(enrolled, c, invitation); err != nil {
				return err
			}
			f.agents[i] = c
			return nil
		})
	}
	if err := enrolment.Wait(); err != nil {
		return err
	}
	var starting errgroup.Group
	starting.SetLimit(4)
	for _, c := range f.agents {
		starting.Go(func() error {
			a, err := agent.New(c)
			if err != nil {
				return err
			}
			for name := range c.Data {
				if _, err := a.DeclareSource(ctx, name, desk.Approver{},
					source.DeclareOptions{}); err != nil {
					return errors.Join(err, a.Close())
				}
			}
			f.daemons.Go(func() error { return a.Run(ctx) })
			return nil
		})
	}
	return starting.Wait()
}

func (f *federation) invite(ctx context.Context, party, address string) (string, error) {
	f.turns.Lock()
	defer f.turns.Unlock()
	for {
		invitation, _, err := f.operator.Invite(ctx,
			admin.InviteOptions{Name: party, Role: protocol.RoleParty, Address: address})
		if !errors.Is(err, protocol.ErrBusy) {
			return invitation, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (f *federation) run(ctx context.Context, p planning.PreparedPlan,
	seen func(contributed int)) (none protocol.SignedRelease, err error) {
	ref := p.Hash.String()
	if err := f.open(ctx, p, ref); err != nil {
		return none, err
	}
	for {
		s, err := f.operator.Study(ctx, ref)
		if err != nil && !protocol.IsRetryable(err) {
			return none, err
		}
		if err == nil {
			seen(s.Contributed)
			switch s.State {
			case study.Failed:
				return none, errors.New(s.Reason)
			case study.Released:
				return f.operator.Release(ctx, ref)
			}
		}
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (f *federation) open(ctx context.Context, p planning.PreparedPlan, ref string) error {
	f.turns.Lock()
	defer f.turns.Unlock()
	err := f.operator.UploadPool(ctx, p.Plan.Pool, p.PoolBytes)
	if err == nil {
		_, err = f.operator.CreateStudy(ctx, p.Canonical, nil)
	}
	if err == nil {
		_, err = f.operator.Open(ctx, ref)
	}
	return err
}

func (f *federation) close() error {
	if f.operator != nil {
		f.operator.Close()
	}
	f.stop()
	return f.daemons.Wait()
}

func writeCSV(name string, t *dataset.Table) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(t.Write(csvfile.New(file)), file.Close())
}
