import { isHarmless } from '../../../../../shared/contract/harmless.ts';
import { describe, expect, test } from 'vitest';
import { paint, widthOf } from '../../../../../sandbox/start/screen/ansi.ts';
import { clampScrolled, renderScreen, type Screenful } from '../../../../../sandbox/start/screen/render-screen.ts';
import type { NodeRow, Sentence } from '../../../../../sandbox/start/view/view.ts';

function node(index: number, changes: Partial<NodeRow> = {}): NodeRow {
  return {
    name: `aks-general-purpose-${String(index).padStart(8, 'x')}`,
    size: 'D8ls_v5',
    zone: '1',
    capacityType: 'on-demand',
    microUsdPerHour: 388_000,
    state: { kind: 'ready' },
    ageMs: 30_000,
    pods: 7,
    cpu: { used: 7_000, of: 7_820 },
    memory: { used: 7, of: 14 },
    ...changes,
  };
}

const news: ReadonlyArray<Sentence> = [
  {
    atMs: 13_000,
    tone: 'plain',
    text: 'Provisioned 2 nodes (D8ls_v5 + D4als_v6) for 10 pods: $0.582/h, at most 5.0 % above the cheapest possible.',
  },
  { atMs: 25_000, tone: 'good', text: 'aks-general-purpose-ge9vzq9m joined 11.7 s after its launch.' },
];

function screenful(nodes: ReadonlyArray<NodeRow>, changes: Partial<Screenful> = {}): Screenful {
  const microUsdPerHour = nodes.reduce((sum, row) => sum + (row.microUsdPerHour ?? 0), 0);
  return {
    view: { nodes, pods: { running: 7, starting: 0, pending: 3 }, waiting: [], shortages: [], microUsdPerHour },
    elapsedMs: 83_000,
    plans: { decisions: 1, cost: microUsdPerHour, lowerBound: microUsdPerHour - 10_000 },
    savedMicroUsdPerHour: 0,
    news,
    disruption: 'paused',
    scrolled: { nodes: 0, news: 0 },
    hints: ['export KUBECONFIG=/tmp/nodewright-abcdef/cluster/kubeconfig', 'Keys: q quit'],
    ...changes,
  };
}

function text(content: Screenful, columns: number, rows: number): ReadonlyArray<string> {
  return renderScreen(content, { columns, rows }).map((line) => paint(line, false));
}

describe('the live screen', () => {
  test.each([
    [80, 24],
    [120, 40],
    [60, 12],
    [40, 10],
    [20, 5],
    [1, 1],
  ])('fills %i columns and %i rows and never more', (columns, rows) => {
    const long = 'team-a: the pod asks for more memory than any size that the pool allows can hold; '.repeat(5);
    const view = { ...screenful([node(1)]).view, waiting: [{ reason: long, pods: ['default/a', 'default/b'] }] };
    for (const count of [0, 1, 3, 200]) {
      const nodes = Array.from({ length: count }, (_, index) => node(index));
      const lines = renderScreen({ ...screenful(nodes), view: { ...view, nodes } }, { columns, rows });
      expect(lines).toHaveLength(rows);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    }
  });

  test('shows cost, bound, time, nodes and pods in 80 columns', () => {
    const lines = text(screenful([node(1), node(2, { state: { kind: 'booting' }, pods: 0 })]), 80, 24);
    expect(lines[0]).toBe('Nodewright sandbox  $0.776/h, at most 1.4 % above the cheapest possible     1:23');
    expect(lines[1]).toBe('Nodes 1 ready, 1 coming   Pods 7 running, 3 pending');
    expect(lines[3]).toMatch(/^NODE +SIZE +ZN TYPE +\$\/H CPU +MEMORY +PODS$/);
    expect(lines[4]).toMatch(/^aks-gen…se-xxxxxxx1 D8ls_v5 +1 {2}on-demand +0\.388 ████░ 89% ███░░ 50% +7$/);
    expect(lines[5]).toContain('booting, 30 s');
  });

  test('shows names in full where there is room', () => {
    expect(text(screenful([node(1)]), 120, 24)[4]).toContain('aks-general-purpose-xxxxxxx1 ');
  });

  test('summarises more nodes than fit, those that come or go first', () => {
    const nodes = Array.from({ length: 200 }, (_, index) => node(index));
    const leaving = node(999, { state: { kind: 'leaving', takenBack: true, waitsFor: null } });
    const lines = text(screenful([...nodes, leaving]), 80, 24);
    expect(lines[4]).toContain('evicted by Azure');
    expect(lines.find((line) => line.startsWith('… and'))).toMatch(/^… and \d+ more nodes$/);
    expect(lines.some((line) => line.includes('Provisioned') || line.includes('joined'))).toBe(true);
  });

  test('breaks a long sentence at a space and keeps its time in front', () => {
    const lines = text(screenful([node(1)]), 80, 24);
    const first = lines.findIndex((line) => line.startsWith(' 0:13  Provisioned'));
    expect(lines[first + 1]).toMatch(/^ {7}\S/);
  });

  test('says nothing of a bound once other nodes run than those of the plans', () => {
    const content = screenful([node(1)], { plans: { decisions: 1, cost: 1, lowerBound: 1 } });
    expect(text(content, 80, 24)[0]).not.toContain('cheapest');
  });

  test('tells why pods wait', () => {
    const { view } = screenful([]);
    const waiting = [{ reason: 'no NodePool is there', pods: ['default/a', 'default/b'] }];
    const lines = text({ ...screenful([]), view: { ...view, waiting } }, 80, 24);
    expect(lines).toContain('! 2 pods wait: no NodePool is there');
  });

  test('tells first of all that quota is why they wait', () => {
    const { view } = screenful([]);
    const waiting = [{ reason: 'nothing is available', pods: ['default/a'] }];
    const shortages = [{ name: 'cores', used: 4, limit: 4, pods: 1, suggested: 12, others: 0 }];
    const lines = text({ ...screenful([]), view: { ...view, waiting, shortages } }, 80, 24);
    const first = lines.findIndex((line) => line.startsWith('! '));
    expect(
      lines
        .slice(first, first + 2)
        .join(' ')
        .replaceAll(/\s+/g, ' '),
    ).toBe(
      '! 1 pod waits for quota: 4 of 4 cores of all on-demand VMs together are used. To raise it, start with --quota cores=12 or more.',
    );
    expect(lines[first + 2]).toBe('! 1 pod waits: nothing is available');
  });

  const hints = ['kubectl get', 'Without kubectl', 'npm start', 'Functions host', 'export KUBECONFIG', 'Keys: q quit'];
  const reason =
    'general-purpose: no size of the NodePool has what the pod asks for; ask for less or allow larger sizes';
  const waiting = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
    reason: `${reason} (${name})`,
    pods: [`default/${name}`],
  }));
  const manyNews = Array.from({ length: 60 }, (_, index): Sentence => ({
    atMs: index * 1_000,
    tone: 'plain',
    text: `It is sentence ${index}.`,
  }));

  test.each([
    [80, 24],
    [130, 40],
    [200, 50],
    [200, 24],
    [80, 12],
  ])('keeps the table, the reasons and the news beside each other in %i columns and %i rows', (columns, rows) => {
    const nodes = Array.from({ length: 7 }, (_, index) => node(index));
    const content = screenful(nodes, { hints, news: manyNews });
    const lines = text({ ...content, view: { ...content.view, waiting } }, columns, rows);
    const count = (pattern: RegExp): number => lines.filter((line) => pattern.test(line)).length;
    expect(count(/^aks-/)).toBeGreaterThanOrEqual(rows < 20 ? 1 : 7);
    expect(count(/^! /)).toBe(rows < 20 ? 1 : 3);
    expect(count(/other reasons/)).toBe(rows < 20 ? 0 : 1);
    expect(count(/ It is sentence /)).toBeGreaterThanOrEqual(rows < 20 ? 2 : 4);
    expect(lines.at(-1)).toBe('Keys: q quit');
  });

  test('cuts a reason behind a word, with an ellipsis, where others want the lines', () => {
    const nodes = Array.from({ length: 7 }, (_, index) => node(index));
    const content = screenful(nodes, { hints, news: manyNews });
    const lines = text({ ...content, view: { ...content.view, waiting } }, 80, 24);
    const cut = lines.filter((line) => line.startsWith('! '));
    expect(cut[0]).toBe('! 1 pod waits: general-purpose: no size of the NodePool has what the pod asks …');
    expect(cut.every((line) => line.endsWith(' …'))).toBe(true);
  });

  test('tells a reason in full where nobody else wants the lines', () => {
    const content = screenful([node(1)], { hints });
    const [first] = waiting;
    const lines = text({ ...content, view: { ...content.view, waiting: first === undefined ? [] : [first] } }, 80, 24);
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(`1 pod waits: ${reason} (a)`);
  });

  test('shows fewer hints first, and the cluster and the keys always', () => {
    const nodes = Array.from({ length: 12 }, (_, index) => node(index));
    const lines = text(screenful(nodes, { hints, news: manyNews }), 80, 24);
    expect(lines.slice(-2)).toEqual(['export KUBECONFIG', 'Keys: q quit']);
    expect(lines).not.toContain('Functions host');
    expect(text(screenful([node(1)], { hints }), 80, 24)).toContain('kubectl get');
  });

  test('names what a drain waits for, and the startup taint that a node waits for', () => {
    const drains = node(1, {
      state: { kind: 'leaving', takenBack: false, waitsFor: 'PodDisruptionBudget default/web' },
    });
    const tainted = node(2, { state: { kind: 'tainted', taint: 'node.cilium.io/agent-not-ready:NoExecute' } });
    const lines = text(screenful([drains, tainted, node(3)]), 80, 24);
    expect(lines[1]).toBe('Nodes 1 ready, 1 with a startup taint, 1 leaving   Pods 7 running, 3 pending');
    expect(lines.find((line) => line.includes('xxxxxxx1 D8'))).toContain('removal waits');
    expect(lines.find((line) => line.includes('xxxxxxx2 D8'))).toContain('startup taint, 30 s');
    const oneLine = lines.join(' ').replaceAll(/\s+/g, ' ');
    expect(oneLine).toContain(
      '! aks-general-purpose-xxxxxxx1 waits for PodDisruptionBudget default/web, which allows no evictions',
    );
    expect(oneLine).toContain(
      '! aks-general-purpose-xxxxxxx2 waits for the removal of startup taint node.cilium.io/agent-not-ready:NoExecute',
    );
  });

  test('calls nothing the cheapest while it pays for a node that leaves, or after a second decision', () => {
    const leaving = node(2, { state: { kind: 'leaving', takenBack: false, waitsFor: null } });
    const cheapest = (nodes: ReadonlyArray<NodeRow>, decisions: number): boolean => {
      const { view } = screenful(nodes);
      const plans = { decisions, cost: view.microUsdPerHour, lowerBound: view.microUsdPerHour };
      return (text(screenful(nodes, { plans }), 80, 24)[0] ?? '').includes('cheapest');
    };
    expect(cheapest([node(1), node(2)], 1)).toBe(true);
    expect(cheapest([node(1), leaving], 1)).toBe(false);
    expect(cheapest([node(1), node(2)], 2)).toBe(false);
  });

  test('shows nodes further down and earlier news when somebody scrolls, and stops at the ends', () => {
    const nodes = Array.from({ length: 60 }, (_, index) => node(index, { microUsdPerHour: 1_000 - index }));
    const content = screenful(nodes, { news: manyNews, scrolled: { nodes: 5, news: 10 } });
    const lines = text(content, 80, 24);
    expect(lines[4]).toContain('xxxxxxx5 ');
    expect(lines.find((line) => line.startsWith('… '))).toMatch(/^… 6 to \d+ of 60 nodes$/);
    expect(lines.findLast((line) => line.includes('sentence'))).toContain('It is sentence 49.');
    const far = clampScrolled({ ...content, scrolled: { nodes: 1_000, news: 1_000 } }, { columns: 80, rows: 24 });
    const end = text({ ...content, scrolled: far }, 80, 24);
    expect(end.some((line) => line.includes('xxxxxx59 '))).toBe(true);
    expect(end.some((line) => line.includes('sentence 0.'))).toBe(true);
    expect(clampScrolled({ ...content, scrolled: { nodes: -3, news: -3 } }, { columns: 80, rows: 24 })).toEqual({
      nodes: 0,
      news: 0,
    });
  });

  test('lets no control character of a message through', () => {
    const evil: Sentence = { atMs: 0, tone: 'bad', text: 'a\u001B[2Jb\nc\u0007\u202Ed' };
    const lines = text(screenful([], { news: [evil] }), 80, 24);
    expect(lines.filter((line) => !isHarmless(line))).toEqual([]);
    expect(lines.join('\n')).toContain('a\\u{1b}[2Jb c\\u{7}\\u{202e}d');
  });

  test('has colours only where they are wanted', () => {
    const [line = []] = renderScreen(screenful([node(1)]), { columns: 80, rows: 24 });
    expect(paint(line, true)).toContain('\u001B[1m');
    expect(paint(line, false)).not.toContain('\u001B');
  });
});
