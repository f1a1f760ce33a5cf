// Package laws reads, from what is published about a vector that the auditor made up, the noise and
// its law, as audit.Dependence wants them. It goes by the mechanism's name and its exact
// parameters, which every release states, and shares no code with the samplers that it helps to
// audit. Only tests use it.
package laws
