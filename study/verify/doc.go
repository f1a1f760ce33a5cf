// Package verify is about checking a release without trusting anybody. It makes the release again
// from plan, pool and published numbers. For each claim it says whether the claim is true, whether
// only the coordinator's word stands for it, or whether it can only be trusted. It serves parties,
// analysts and anybody with a release and the pool.
//
// Release checks a signed release against all that the caller knows. What a party can prove by its
// own papers alone is in package evidence.
//
// It guarantees that a release fails if anything in it was changed, added or left out, except for
// claims reported as somebody's word.
package verify
