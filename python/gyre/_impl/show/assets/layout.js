// Sizes and places of items when boxes are opened and closed: as place.py, which made the picture.
"use strict";

function ownSize(item) {
  const c = program.constants, width = c.letter * [...item.title].length + 20;
  if (item.children) {
    const badge = item.lines.length ? [...item.lines[0]].length : 0;
    return [width + 22 + (badge ? c.small * badge + 14 : 0), c.header];
  }
  const lines = Math.max(0, ...item.lines.map(line => [...line].length));
  return [Math.max(width, c.small * lines + 16, 36),
          c.title + c.line * item.lines.length + (item.lines.length ? 4 : 0)];
}

// Left edges in order, without overlaps, as near as can be to the wanted middles.
function spread(wanted, widths, gap) {
  const groups = [], starts = [];
  let offset = 0;
  wanted.forEach((middle, i) => {
    starts.push(offset);
    groups.push([middle - widths[i] / 2 - offset, 1]);
    offset += widths[i] + gap;
    for (let n = groups.length; n > 1; n = groups.length) {
      if (groups[n - 2][0] / groups[n - 2][1] <= groups[n - 1][0] / groups[n - 1][1]) break;
      const [total, many] = groups.pop();
      groups[n - 2][0] += total;
      groups[n - 2][1] += many;
    }
  });
  const placed = [];
  for (const [total, many] of groups)
    for (let i = 0; i < many; ++i) placed.push(total / many + starts[placed.length]);
  return placed;
}

function middlesOf(box, widthOf) {
  const above = new Map(), below = new Map(), middle = new Map(), gap = program.constants.column;
  for (const i of widthOf.keys()) { above.set(i, []); below.set(i, []); }
  box.edges.forEach(([a, b, , route]) => {
    const chain = [a, ...route, b];
    for (let k = 1; k < chain.length; ++k) {
      above.get(chain[k]).push(chain[k - 1]);
      below.get(chain[k - 1]).push(chain[k]);
    }
  });
  for (const layer of box.layers) {
    let x = 0;
    const total = layer.reduce((sum, i) => sum + widthOf.get(i) + gap, 0);
    for (const i of layer) {
      middle.set(i, x + widthOf.get(i) / 2 - total / 2);
      x += widthOf.get(i) + gap;
    }
  }
  for (let sweep = 0; sweep < 8; ++sweep) {
    const near = sweep % 2 ? below : above;
    for (const layer of sweep % 2 ? [...box.layers].reverse() : box.layers) {
      const widths = layer.map(i => widthOf.get(i));
      const wanted = layer.map(i => near.get(i).length
        ? near.get(i).reduce((sum, j) => sum + middle.get(j), 0) / near.get(i).length : middle.get(i));
      spread(wanted, widths, gap).forEach((start, k) => middle.set(layer[k], start + widths[k] / 2));
    }
  }
  return middle;
}

// Coordinates of a box's children and edges, and the box's own size; children have theirs.
function place(box) {
  const c = program.constants, widthOf = new Map();
  for (const layer of box.layers)
    for (const i of layer) widthOf.set(i, i < 0 ? c.bend : items[box.children[i]].width);
  const middle = middlesOf(box, widthOf);
  let left = 0, right = 0, first = true;
  for (const [i, x] of middle) {
    const half = widthOf.get(i) / 2;
    left = first ? x - half : Math.min(left, x - half);
    right = first ? x + half : Math.max(right, x + half);
    first = false;
  }
  box.width = Math.max(right - left + 2 * c.padding + (box.kind === "loop" ? 2 * c.loop : 0), ownSize(box)[0]);
  const shift = (box.width - (right - left)) / 2 - left, spans = [], rowOf = new Map();
  let y = c.header + c.padding;
  box.layers.forEach((layer, row) => {
    const height = Math.max(0, ...layer.filter(i => i >= 0).map(i => items[box.children[i]].height));
    for (const i of layer) {
      rowOf.set(i, row);
      middle.set(i, middle.get(i) + shift);
      if (i < 0) continue;
      const child = items[box.children[i]];
      child.x = middle.get(i) - child.width / 2;
      child.y = y;
    }
    spans.push([y, y + height]);
    y += height + c.row;
  });
  box.height = (box.layers.length ? y - c.row : y) + c.padding;
  route(box, middle, spans, rowOf);
}

function route(box, middle, spans, rowOf) {
  const entering = new Map(), port = new Map();
  box.edges.forEach(([a, b, , bends], at) => {
    if (!entering.has(b)) entering.set(b, []);
    entering.get(b).push([middle.get(bends.length ? bends[bends.length - 1] : a), at]);
  });
  for (const [b, edges] of entering) {
    const child = items[box.children[b]], width = child.width * (child.children ? 0.3 : 0.6);
    edges.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
    edges.forEach(([, at], k) => port.set(at, middle.get(b) + width * ((k + 0.5) / edges.length - 0.5)));
  }
  box.paths = box.edges.map(([a, b, , bends], at) => {
    const source = items[box.children[a]];
    const points = [[middle.get(a), source.y + source.height], [middle.get(a), spans[rowOf.get(a)][1]]];
    for (const bend of bends) {
      const [top, bottom] = spans[rowOf.get(bend)];
      points.push([middle.get(bend), top], [middle.get(bend), bottom]);
    }
    points.push([port.get(at), items[box.children[b]].y]);
    return points;
  });
}

function pathOf([[x, y], ...rest]) {
  const f = v => v.toFixed(1);
  let d = `M${f(x)} ${f(y)}`;
  rest.forEach(([u, v], k) => {
    const half = (y + v) / 2;
    d += k % 2 === 0 || Math.abs(u - x) < 0.5 ? `L${f(u)} ${f(v)}`
      : `C${f(x)} ${f(half)} ${f(u)} ${f(half)} ${f(u)} ${f(v)}`;
    [x, y] = [u, v];
  });
  return d;
}

function loopPath(box) {
  const r = box.width - 11, t = program.constants.header + 10, b = box.height - 12;
  return `M${r - 14} ${b}H${r - 6}Q${r} ${b} ${r} ${b - 6}V${t + 6}Q${r} ${t} ${r - 6} ${t}H${r - 13}`;
}
