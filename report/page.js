'use strict';
{
	const names = ['task', 'machine', 'time', 'outcome', 'CPU time', 'peak memory', 'command', 'output'];
	const details = JSON.parse(document.getElementById('data').textContent);
	const $ = id => document.getElementById(id);
	const plot = $('plot'), scroll = $('scroll'), panel = $('details'), style = $('highlight');
	const bars = [...plot.querySelectorAll('.b')];
	const number = new Map(bars.map((bar, i) => [bar, i]));
	const rows = new Map([...document.querySelectorAll('tr[data-row]')].map(row => [row.dataset.row, row]));
	// The browser's own tooltip would cover what the panel shows; other readers of
	// the picture want the title.
	for (const bar of bars) {
		const title = bar.querySelector('title');
		bar.setAttribute('aria-label', title.textContent);
		title.remove();
	}

	let pinned = null, picked = null, lit = null;

	// highlight dims all jobs but one; null: none.
	const highlight = job => {
		style.textContent = job === null ? '' : `#plot [data-j]:not([data-j="${job}"]){opacity:.15}`;
		rows.get(lit)?.classList.remove('on');
		rows.get(lit = job)?.classList.add('on');
	};

	const show = bar => {
		panel.replaceChildren();
		panel.hidden = !bar;
		for (const [name, value] of bar ? details[number.get(bar)] : []) {
			const dt = document.createElement('dt'), dd = document.createElement('dd');
			dt.textContent = names[name];
			dd.textContent = value;
			if (name >= 6) dd.className = 'code';
			panel.append(dt, dd);
		}
	};

	// pick selects a bar until another one is, or null.
	const pick = bar => {
		picked?.classList.remove('picked');
		(picked = bar)?.classList.add('picked');
		show(bar);
	};

	const barOf = event => event.target.closest?.('.b');
	plot.addEventListener('pointerover', event => {
		const bar = barOf(event);
		if (!bar) return;
		if (!picked) show(bar);
		if (pinned === null) highlight(bar.dataset.j);
	});
	plot.addEventListener('pointerleave', () => {
		if (!picked) show(null);
		highlight(pinned);
	});
	plot.addEventListener('click', event => {
		const bar = barOf(event);
		pick(bar && bar !== picked ? bar : null);
	});

	// Bars come lane by lane, in order of time.
	const lanes = [];
	let last = null;
	bars.forEach((bar, i) => {
		const where = details[i].find(pair => pair[0] === 1)[1];
		if (where !== last) lanes.push([]);
		lanes.at(-1).push(bar);
		last = where;
	});
	const left = bar => bar.x.baseVal.value;
	const nearest = (lane, x) => lane.reduce((best, bar) => Math.abs(left(bar) - x) < Math.abs(left(best) - x) ? bar : best);
	scroll.addEventListener('keydown', event => {
		if (event.key === 'Escape') return pick(null);
		if (!bars.length || event.ctrlKey || event.metaKey || event.altKey) return;
		const l = picked ? lanes.findIndex(lane => lane.includes(picked)) : -1;
		const i = picked ? lanes[l].indexOf(picked) : -1;
		const to = {
			ArrowRight: () => lanes[l][i + 1], ArrowLeft: () => lanes[l][i - 1],
			Home: () => lanes[l][0], End: () => lanes[l].at(-1),
			ArrowDown: () => lanes[l + 1] && nearest(lanes[l + 1], left(picked)),
			ArrowUp: () => lanes[l - 1] && nearest(lanes[l - 1], left(picked)),
		}[event.key];
		if (!to) return;
		event.preventDefault();
		pick((picked ? to() : lanes[0][0]) ?? picked);
		picked.scrollIntoView({block: 'nearest', inline: 'nearest'});
	});

	for (const button of document.querySelectorAll('button[data-job]')) {
		const job = button.dataset.job, row = button.closest('tr');
		const leave = () => highlight(pinned);
		row.addEventListener('pointerenter', () => highlight(job));
		row.addEventListener('pointerleave', leave);
		button.addEventListener('focus', () => highlight(job));
		button.addEventListener('blur', leave);
		button.addEventListener('click', () => {
			pinned = pinned === job ? null : job;
			for (const other of document.querySelectorAll('button[data-job][aria-pressed=true]')) other.ariaPressed = 'false';
			button.ariaPressed = String(pinned === job);
			highlight(pinned);
		});
	}

	for (const button of document.querySelectorAll('button[data-zoom]')) {
		button.addEventListener('click', () => {
			const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / plot.clientWidth;
			const zoom = button.dataset.zoom;
			plot.dataset.zoom = zoom;
			plot.style.width = `${100 * zoom}%`;
			plot.style.minWidth = `${620 * zoom}px`;
			for (const other of document.querySelectorAll('button[data-zoom]')) other.ariaPressed = String(other === button);
			scroll.scrollLeft = middle * plot.clientWidth - scroll.clientWidth / 2;
		});
	}
}
