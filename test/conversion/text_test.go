package conversion

import "strings"

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// patterns are texts that match each pattern of our schemas.
var patterns = map[string][]string{
	`^([0-9]{1,8}s|[0-9]{1,6}m|[0-9]{1,4}h)$`: {"10s", "0s", "007s", "90s", "2m", "1h", "8760h", "31536000s", "525600m", "0h"},
	`^[1-9][0-9]{0,3}%$`:                      {"1%", "80%", "100%", "9999%"},
	`^/`:                                      {"/", "/a", "/é?x=<&>"},
	`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: {"a", "*.example.net", "web.example.net"},
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`:                                 {"Ready", "NotOwned", "a,b:c"},
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`: {
		"Ready", "Available", "example.net/Mine", "Stalled"},
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`: {"a", "b", "c-1"},
}

// named are likely and unlikely texts for fields that conversion takes apart or that refer to each other.
var named = map[string][]string{
	"image": {"nginx:1.25", "reg:5000/a", "reg:5000/a:t", "a:t@" + digest, "a@" + digest, "nginx", "a:", ":t", "a b", "a:t:u", "@", "a@", "/",
		strings.Repeat("i", 1024), strings.Repeat("i", 1000) + ":" + strings.Repeat("t", 23)},
	"repository": {"nginx", "reg:5000/a", "a", "library/nginx", "nginx", "reg.example.net/shop/web", "a b", "a:b", "a@b", ":", "a/", strings.Repeat("i", 1024)},
	"tag":        {"1.25", "latest", "t", "v1", "1.25", "latest", "", "a/b", "a:b", "a@b"},
	"digest":     {digest, digest, digest, "", "sha256:abc", "a@b"},
	"name":       {"a", "b", "c"},
	"mountPath":  {"/data", "/x", "/x/y"},
}

func (r *random) string(n *node) string {
	least, most := 0, 1<<30
	if v := n.ValueValidation; v != nil {
		if v.MinLength != nil {
			least = int(*v.MinLength)
		}
		if v.MaxLength != nil {
			most = int(*v.MaxLength)
		}
		if v.Format == "date-time" {
			return pick(r, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000001Z", "2026-01-02T03:04:05+02:00")
		}
		if v.Pattern != "" {
			known := patterns[v.Pattern]
			if known == nil {
				r.t.Fatalf("no texts for pattern %q of %s: add some to patterns", v.Pattern, n.path)
			}
			return pick(r, known...)
		}
	}
	if known := named[n.name]; known != nil && r.chance(90) {
		return pick(r, known...)
	}
	text := r.text()
	if most < 1<<30 && r.chance(5) {
		text = strings.Repeat("é", most)
	}
	for len(text) < least {
		text += "x"
	}
	return text
}

func (r *random) text() string {
	return pick(r, "", "a", "web", "two words", "<&>", "\u2028 \u00e9 \U0001f600", `"quoted" \ and 	tab`, "null", "5", "a=b,c", "\x00", strings.Repeat("long ", 50))
}
