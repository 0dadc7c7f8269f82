package claims

import (
	"strings"
	"testing"
)

func TestOverlap(t *testing.T) {
	tests := map[string]struct {
		reason string
		a, b   Claim
		want   string
	}{
		"Disjoint":       {"side by side", Claim{Namespaces: []string{"a", "b"}}, Claim{Namespaces: []string{"c"}}, ""},
		"One":            {"one in common", Claim{Namespaces: []string{"a", "b"}}, Claim{Namespaces: []string{"b", "c"}}, "namespace b"},
		"Two":            {"two in common", Claim{Namespaces: []string{"a", "b", "c"}}, Claim{Namespaces: []string{"c", "b"}}, "namespaces b, c"},
		"All":            {"an operator without flags has them all", Claim{}, Claim{Namespaces: []string{"a"}}, "namespace a"},
		"AllExcept":      {"the others are left to shards", Claim{Except: []string{"a", "b"}}, Claim{Namespaces: []string{"a"}}, ""},
		"AllExceptOther": {"one is not", Claim{Except: []string{"a"}}, Claim{Namespaces: []string{"a", "b"}}, "namespace b"},
		"TwoRests":       {"two that take whatever is left", Claim{Except: []string{"a"}}, Claim{Except: []string{"b"}}, "namespaces that neither of the two excepts"},
		"Webhooks":       {"two that serve webhooks", Claim{Namespaces: []string{"a"}, Webhooks: true}, Claim{Namespaces: []string{"b"}, Webhooks: true}, "the webhooks"},
		"OneHasWebhooks": {"one does", Claim{Except: []string{"b"}, Webhooks: true}, Claim{Namespaces: []string{"b"}}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.overlap(tc.b); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if got := tc.b.overlap(tc.a); got != tc.want {
				t.Errorf("%s, the other way round: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// An obstacle names both sides, and a flag.
func TestObstacleSaysWhatToDo(t *testing.T) {
	tests := map[string]struct {
		obstacle obstacle
		want     []string
	}{
		"Shard":    {obstacle{shard: "b", holder: "a", what: "namespace x", process: "pod-1"}, []string{`namespace x is claimed by shard "a" (pod-1)`, "--namespaces"}},
		"Nameless": {obstacle{shard: "b", what: "namespaces x, y"}, []string{"are claimed by the operator without --shard (nobody now)", "--except-namespaces"}},
		"Out":      {obstacle{holder: "a", what: "namespace x", process: "pod-1"}, []string{`shard "a"`, "this operator with --except-namespaces"}},
		"Webhooks": {obstacle{shard: "b", holder: "a", what: "the webhooks", process: "pod-1"}, []string{"the webhooks are claimed", "--webhooks=false"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, want := range tc.want {
				if got := tc.obstacle.err().Error(); !strings.Contains(got, want) {
					t.Errorf("%q, want %q in it", got, want)
				}
			}
		})
	}
}
