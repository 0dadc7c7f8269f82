package scale

import (
	"fmt"
	"math"
	"os"
	"testing"
)

// point is a measurement at a size.
type point struct {
	webApps, pods float64
	values        []float64
}

// slopes prints what each thousand adds.
func (r *rig) slopes() {
	r.Helper()
	for i, name := range []string{"live heap", "resident"} {
		base, perWebApp, perPod, err := fit(r.points, i)
		if err != nil {
			r.Logf("%s: %v", name, err)
			continue
		}
		fmt.Fprintf(os.Stdout, "slopes   %s: %.0f MiB, %.1f MiB more for each 1,000 WebApps, %.1f for each 1,000 Pods\n", name, base, 1000*perWebApp, 1000*perPod)
		if i == 0 {
			r.ReportMetric(1000*perWebApp, "MiB/1000webapps")
			r.ReportMetric(1000*perPod, "MiB/1000pods")
		}
	}
	if len(r.starts) < 2 {
		return
	}
	first, last := r.starts[0], r.starts[len(r.starts)-1]
	thousands := (last.webApps - first.webApps) / 1000
	fmt.Fprintf(os.Stdout, "slopes   start: %.1f s later for each 1,000 WebApps and %d Pods, %.1f s of processor time of the operator\n",
		(last.values[0]-first.values[0])/thousands, 1000**ratio, (last.values[1]-first.values[1])/thousands)
}

// fit finds base + perWebApp*webApps + perPod*pods closest to a value of the points, by least squares.
func fit(points []point, value int) (base, perWebApp, perPod float64, err error) {
	var m [3][4]float64 // the normal equations
	for _, p := range points {
		row := [4]float64{1, p.webApps, p.pods, p.values[value]}
		for i := range m {
			for j := range row {
				m[i][j] += row[i] * row[j]
			}
		}
	}
	for i := range m {
		pivot := i
		for j := i + 1; j < len(m); j++ {
			if math.Abs(m[j][i]) > math.Abs(m[pivot][i]) {
				pivot = j
			}
		}
		m[i], m[pivot] = m[pivot], m[i]
		if math.Abs(m[i][i]) < 1e-9 {
			return 0, 0, 0, fmt.Errorf("%d points do not tell WebApps and Pods apart", len(points))
		}
		for j := range m {
			if j == i {
				continue
			}
			factor := m[j][i] / m[i][i]
			for k := i; k < len(m[j]); k++ {
				m[j][k] -= factor * m[i][k]
			}
		}
	}
	return m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2], nil
}

func TestFit(t *testing.T) {
	var points []point
	for _, at := range [][2]float64{{0, 0}, {0, 500}, {500, 1000}, {500, 5500}, {10000, 20000}} {
		points = append(points, point{at[0], at[1], []float64{0, 30 + 0.02*at[0] + 0.005*at[1]}})
	}
	base, perWebApp, perPod, err := fit(points, 1)
	if err != nil || math.Abs(base-30) > 1e-6 || math.Abs(perWebApp-0.02) > 1e-9 || math.Abs(perPod-0.005) > 1e-9 {
		t.Errorf("got %g, %g, %g, %v", base, perWebApp, perPod, err)
	}
	if _, _, _, err := fit([]point{{0, 0, []float64{1}}, {100, 200, []float64{2}}, {200, 400, []float64{3}}}, 0); err == nil {
		t.Error("WebApps and Pods that grow together were told apart")
	}
}
