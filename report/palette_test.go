package report

import (
	"math"
	"testing"
)

// sights are matrices in linear light, of severity 1, from the tables of Machado,
// Oliveira and Fernandes (2009).
var sights = map[string][3][3]float64{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia": {
		{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998},
	},
	"deuteranopia": {
		{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881},
	},
	"tritanopia": {
		{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900},
	},
}

// oklab maps linear light to Ottosson's perceptual coordinates.
func oklab(c [3]float64) [3]float64 {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

func TestColoursDiffer(t *testing.T) {
	seen := func(hex string, sight [3][3]float64) [3]float64 {
		r, g, b := rgb(hex)
		var c [3]float64
		for i, row := range sight {
			c[i] = min(1, max(0, row[0]*r+row[1]*g+row[2]*b))
		}
		return oklab(c)
	}
	for name, sight := range sights {
		for i, a := range palette {
			p := seen(a, sight)
			for _, b := range palette[:i] {
				q := seen(b, sight)
				if d := math.Hypot(p[0]-q[0], math.Hypot(p[1]-q[1], p[2]-q[2])); d < 0.1 {
					t.Errorf("%s: %s and %s are %.3f apart", name, a, b, d)
				}
			}
			for _, back := range []string{"#f3f4f6", "#161b22"} { // of the lanes
				if q := seen(back, sight); math.Abs(p[0]-q[0]) < 0.1 {
					t.Errorf("%s: %s on %s", name, a, back)
				}
			}
		}
	}
}

// Every text on a bar has a contrast of at least 4.5 with it, as WCAG 2 asks.
func TestNamesCanBeRead(t *testing.T) {
	for i, c := range palette {
		r, g, b := rgb(c)
		y := 0.2126*r + 0.7152*g + 0.0722*b
		contrast := 1.05 / (y + 0.05)
		if darkText[i] {
			contrast = (y + 0.05) / (0.0056 + 0.05) // #111
		}
		if contrast < 4.5 {
			t.Errorf("%s: %.2f", c, contrast)
		}
	}
}

// Jobs that share a colour differ in texture, and all are defined.
func TestStylesAreDistinct(t *testing.T) {
	if styles < 36 {
		t.Errorf("%d styles", styles)
	}
	seen := map[string]bool{}
	for i := range styles {
		key := palette[i%len(palette)] + textures[i/len(palette)]
		if seen[key] || style(i) != i || style(i+styles) != i {
			t.Errorf("style %d", i)
		}
		seen[key] = true
	}
}
