package history

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomFit makes a fit of a random, sparse layout: tasks of half the stages differ.
func randomFit(seed uint64) *fit {
	rng := rand.New(rand.NewPCG(seed, 3))
	const stages, each, machines = 6, 5, 4
	speeds := make([]float64, machines)
	for m := range speeds {
		speeds[m] = math.NaN()
	}
	if seed%2 == 0 {
		speeds[1] = 0.7
	}
	effects := make([]float64, stages*each)
	for t := range effects {
		effects[t] = rng.NormFloat64() * float64(t/each%2)
	}
	var obs []observation
	for run := range 6 {
		for t, effect := range effects {
			if rng.IntN(3) == 0 {
				continue
			}
			m := rng.IntN(machines)
			y := float64(t/each) + effect - float64(m)*0.5 + 0.1*rng.NormFloat64()
			if rng.IntN(12) == 0 {
				y += 2
			}
			obs = append(obs, observation{stage: t / each, task: t, machine: m, y: y, weight: weightOf(6 - run)})
		}
	}
	return newFit(obs, stages, len(effects), speeds)
}

// The problem with fixed scales is convex, so a point is the optimum if and only if the
// derivative by every free unknown vanishes: the sums of what pulls at it, each residual
// clipped by Huber's function, over noise squared.
func TestFitIsStationary(t *testing.T) {
	withEffects := 0
	for seed := range uint64(20) {
		f := randomFit(seed)
		location, effect, speed := make([]float64, len(f.location)), make([]float64, len(f.effect)), make([]float64, len(f.speed))
		stageOf := map[int]int{}
		for r, o := range f.obs {
			e := f.residual(r)
			limit := huber * f.scale[o.stage]
			pull := o.weight * math.Max(-limit, math.Min(limit, e)) / (f.scale[o.stage] * f.scale[o.stage])
			location[o.stage] += pull
			effect[o.task] += pull
			speed[o.machine] -= pull
			stageOf[o.task] = o.stage
		}
		const tolerance = 0.02 // a step of 1e-4 or less: second derivatives are in the hundreds
		for k, g := range location {
			if math.Abs(g) > tolerance {
				t.Errorf("seed %d: location of stage %d is pulled at by %v", seed, k, g)
			}
		}
		for m, g := range speed {
			if !f.fixed[m] && math.Abs(g) > tolerance {
				t.Errorf("seed %d: speed of machine %d is pulled at by %v", seed, m, g)
			}
		}
		for task, k := range stageOf {
			b := f.between[k]
			if b == 0 {
				if f.effect[task] != 0 {
					t.Errorf("seed %d: task %d has an effect where there are none", seed, task)
				}
				continue
			}
			withEffects++
			if g := effect[task] - f.effect[task]/(b*b); math.Abs(g) > tolerance {
				t.Errorf("seed %d: effect of task %d is pulled at by %v", seed, task, g)
			}
		}
		if seed%2 == 0 && f.speed[1] != 0.7 {
			t.Errorf("seed %d: a fixed speed has become %v", seed, f.speed[1])
		}
	}
	if withEffects < 100 {
		t.Errorf("only %d effects", withEffects)
	}
}

func TestQuantiles(t *testing.T) {
	s := sample{{3, 1}, {1, 1}, {2, 1}}
	for p, want := range map[float64]float64{0: 1, 0.5: 2, 1: 3, 1.0 / 3: 1.5, 1.0 / 6: 1, 0.9: 3} {
		if got := s.quantile(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v-quantile %v, want %v", p, got, want)
		}
	}
	s = sample{{10, 3}, {0, 1}}
	if got := s.quantile(0.5); math.Abs(got-7.5) > 1e-12 { // centres of weight at 0.5 and 2.5 of 4
		t.Errorf("weighted median %v, want 7.5", got)
	}
	if got := sample(nil).quantile(0.5); got != 0 {
		t.Errorf("median of nothing %v", got)
	}
	many := sample{}
	for i := range 200 {
		many.add(float64((i*37)%200), 1)
	}
	for p, want := range map[float64]float64{0.99: 197, 0.5: 99, 1: 199, 0.001: 0} {
		if got := many.high(p); got != want {
			t.Errorf("%v of 0..199 are at most %v, want %v", p, got, want)
		}
	}
}

// Whatever the number of points, the mean stays and the survival function is nowhere
// off by more than the weight of a bin.
func TestDistOfSample(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s := sample{}
		total := 0.0
		for range 1 + rng.IntN(500) {
			w := rng.Float64() + 0.01
			s.add(math.Exp(rng.NormFloat64()*2), w)
			total += w
		}
		const points = 16
		d := s.bins(points).dist()
		if mean := s.mean(); math.Abs(d.Mean()-mean) > 1e-9*mean {
			t.Errorf("seed %d: mean %v, want %v", seed, d.Mean(), mean)
		}
		values := map[float64]bool{}
		for range 3000 {
			values[d.Sample(rng)] = true
		}
		if len(values) > points {
			t.Errorf("seed %d: %d values, want at most %d", seed, len(values), points)
		}
		if len(s) <= points {
			for _, v := range s {
				if !values[v.x] && len(s) < 8 {
					t.Errorf("seed %d: %v of few values is missing", seed, v.x)
				}
			}
			continue
		}
		for _, v := range s {
			at := v.x
			above := 0.0
			for _, v := range s {
				if v.x > at {
					above += v.w / total
				}
			}
			if got := d.Survival(at); math.Abs(got-above) > 1.0/points+2/total {
				t.Errorf("seed %d: %.3f above %v, want %.3f", seed, got, at, above)
			}
		}
	}
}
