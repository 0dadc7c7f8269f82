package conversion

import "fmt"

// Overlay returns newHub, a hub object that came in through an older version, with every field that version cannot show taken
// from storedHub: what a client cannot see it cannot change, whatever annotations it sent. Visible fields, status and metadata
// are those of newHub, and what a visible struct hides goes where the client removed the struct.
//
// It is the spoke's view of newHub with the kept fields of storedHub, converted up. spokeAPIVersion is group and version.
func Overlay(newHub, storedHub []byte, spokeAPIVersion string) ([]byte, error) {
	return standard.overlay(newHub, storedHub, spokeAPIVersion)
}

func (c *converter) overlay(newHub, storedHub []byte, spokeAPIVersion string) ([]byte, error) {
	spoke, err := c.spokeOf(newHub, spokeAPIVersion)
	if err != nil {
		return nil, fmt.Errorf("new object: %w", err)
	}
	stored, err := c.spokeOf(storedHub, spokeAPIVersion)
	switch {
	case err != nil:
		return nil, fmt.Errorf("stored object: %w", err)
	case stored != spoke:
		return nil, fmt.Errorf("stored object: of another kind")
	}
	_, left := spoke.viewOf(storedHub)
	view, _ := spoke.viewOf(newHub)

	r := newRun(spoke, up)
	defer r.release()
	r.override, r.unlimited, r.keepManagedFields = &left, true, true
	return r.convert(nil, &cursor{text: view}), nil
}

// spokeOf returns the table between a hub object and one of its older versions.
func (c *converter) spokeOf(hub []byte, spokeAPIVersion string) (*compiled, error) {
	if !validJSON(hub) || !isObject(hub[firstByte(hub):]) {
		return nil, fmt.Errorf("not a JSON object")
	}
	way, err := c.route(identifyWhole(cursor{text: hub}), spokeAPIVersion)
	if err != nil {
		return nil, err
	}
	if len(way.steps) != 1 || way.steps[0].direction != down {
		return nil, fmt.Errorf("not a conversion from %s to an older version", hubVersion)
	}
	return way.steps[0].compiled, nil
}

func firstByte(text []byte) int {
	c := cursor{text: text}
	c.peek()
	return c.at
}

// viewOf returns a hub object as the spoke shows it, with managedFields, and what is left beside the view.
func (c *compiled) viewOf(hub []byte) ([]byte, leftover) {
	r := newRun(c, down)
	defer r.release()
	r.unlimited, r.keepManagedFields = true, true
	view := r.convert(nil, &cursor{text: hub})
	return view, leftover{kept: copied(r.keptText), parked: copied(r.parkedText)}
}

// copied returns a copy of text, and nil for none.
func copied(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	return append([]byte(nil), text...)
}

// KeptSize returns how many bytes of annotations, keys included, a hub object needs in an older version for fields that version
// does not have. spokeAPIVersion is group and version. Compression counts; the limit for annotations does not.
func KeptSize(hub []byte, spokeAPIVersion string) (int, error) {
	spoke, err := standard.spokeOf(hub, spokeAPIVersion)
	if err != nil {
		return 0, err
	}
	r := newRun(spoke, down)
	defer r.release()
	r.unlimited = true
	r.convert(nil, &cursor{text: hub})
	r.keptText, r.parkedText = packed(r.keptText, plainLimit), packed(r.parkedText, plainLimit)
	return r.ownSize(), nil
}

// Degraded returns the values of older versions that a hub object carries because they could not be read, as far as no
// later change took their place. Paths are in the older version.
//
// The object may come from a Go struct, which writes an empty text or zero for a required field that is absent: they take the place
// of nothing.
func Degraded(hub []byte) []Quarantined {
	var found []Quarantined
	for _, spoke := range standard.all {
		if bound, err := standard.spokeOf(hub, spoke.kind.Group+"/"+spoke.version); err != nil || bound != spoke {
			continue
		}
		r := newRun(spoke, down)
		r.unlimited, r.zeroIsAbsent = true, true
		view := r.convert(nil, &cursor{text: hub})
		r.release()
		r = newRun(spoke, up)
		r.unlimited = true
		r.convert(nil, &cursor{text: view})
		found = append(found, r.result.Quarantined...)
		r.release()
	}
	return found
}
