import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHarmless } from '../../../../shared/contract/harmless.ts';
import { describe, expect, test } from 'vitest';
import type { Progress } from '../../../../sandbox/start/screen/display.ts';
import { keysHint, renderHints } from '../../../../sandbox/start/screen/hints.ts';
import { createJsonDisplay } from '../../../../sandbox/start/screen/json-display.ts';
import { createPlainDisplay } from '../../../../sandbox/start/screen/plain-display.ts';
import { renderSession } from '../../../../sandbox/start/record/render-session.ts';
import { renderSummary, type Summary } from '../../../../sandbox/start/record/render-summary.ts';
import { reasonsOf } from '../../../../sandbox/start/screen/reason-lines.ts';
import type { NodeRow, View } from '../../../../sandbox/start/view/view.ts';

const row: NodeRow = {
  name: 'aks-a',
  size: 'D8ls_v5',
  zone: '1',
  capacityType: 'on-demand',
  microUsdPerHour: 388_000,
  state: { kind: 'ready' },
  ageMs: 0,
  pods: 7,
  cpu: { used: 1, of: 2 },
  memory: { used: 1, of: 2 },
};

const view: View = {
  nodes: [
    row,
    { ...row, name: 'aks-b', pods: 6 },
    { ...row, name: 'aks-c', size: 'D4als_v6', microUsdPerHour: 194_000, pods: 3 },
  ],
  pods: { running: 16, starting: 0, pending: 0 },
  waiting: [],
  shortages: [],
  microUsdPerHour: 970_000,
};

function progress(pods: View['pods'], elapsedMs: number): Progress {
  return {
    view: { ...view, pods },
    elapsedMs,
    plans: { decisions: 0, cost: 0, lowerBound: 0 },
    savedMicroUsdPerHour: 0,
    news: [],
    disruption: 'on',
  };
}

function recorder(): { readonly lines: () => ReadonlyArray<string>; readonly write: (text: string) => void } {
  let written = '';
  return {
    lines: () => written.split('\n').slice(0, -1),
    write: (text) => {
      written += text;
    },
  };
}

describe('plain output', () => {
  test('tells of pods at most once a second, and of the last state always', () => {
    const { lines, write } = recorder();
    let now = 10_000;
    const display = createPlainDisplay(write, () => now);
    for (let running = 0; running < 10; running++) {
      now += 300;
      display.show(progress({ running, starting: 10 - running, pending: 0 }, now));
    }
    display.show(progress({ running: 10, starting: 0, pending: 0 }, now));
    display.last('done');
    const told = lines();
    expect(told.length).toBeLessThan(7);
    expect(told.at(-2)).toContain('Pods: 10 running. 3 nodes, $0.970/h.');
    expect(told.at(-1)).toBe('done');
    display.show(progress({ running: 11, starting: 0, pending: 0 }, now + 9_000));
    expect(lines().at(-1)).toBe('done');
  });
});

const shortage = { name: 'cores', used: 4, limit: 4, pods: 7, suggested: 12, others: 0 };
const inWords =
  '7 pods wait for quota: 4 of 4 cores of all on-demand VMs together are used. To raise it, start with --quota cores=12 or more.';

describe('quota that pods wait for', () => {
  const short: Progress = {
    ...progress({ running: 3, starting: 0, pending: 7 }, 12_000),
    view: { ...view, shortages: [shortage] },
  };

  test('is told in plain output when it begins and when it changes, and not over and over', () => {
    const { lines, write } = recorder();
    const display = createPlainDisplay(write, () => 0);
    display.show(short);
    display.show(short);
    display.show({ ...short, view: { ...short.view, shortages: [{ ...shortage, pods: 8 }] } });
    const told = lines().filter((line) => line.includes('quota'));
    expect(told).toEqual([`  0:12  ${inWords}`, `  0:12  ${inWords.replace('7 pods', '8 pods')}`]);
  });

  test('is told once: what the app says of the same pods is left out, and what it says of others is not', () => {
    const pods = ['default/a'];
    const of = (pool: string, why: string): string =>
      `${pool}: every instance type with k In [a] is unavailable: ${why}`;
    const quota = 'Azure has refused it lately, or quota does not allow it; wait, raise the quota of the subscription';
    const told = (reasons: ReadonlyArray<string>, shortages: Progress['view']['shortages']) =>
      reasonsOf({ ...view, shortages, waiting: reasons.map((reason) => ({ reason, pods })) });
    expect(told([of('general', quota)], [shortage])).toEqual([inWords]);
    expect(told([of('general', quota)], [])).toEqual([`1 pod waits: ${of('general', quota)}`]);
    const two = `${of('general', quota)}; other: its taint is not tolerated`;
    expect(told([two], [shortage])).toEqual([inWords, `1 pod waits: ${two}`]);
  });

  test('is in the JSON state, as figures and in words', () => {
    const { lines, write } = recorder();
    createJsonDisplay(write, () => 0).show(short);
    expect(JSON.parse(lines()[0] ?? '')).toMatchObject({ event: 'state', quota: [{ ...shortage, text: inWords }] });
  });
});

describe('JSON output', () => {
  test('is one object per line, and tells a state only when it has changed', () => {
    const { lines, write } = recorder();
    const display = createJsonDisplay(write, () => 0);
    display.started('Azure', 12);
    display.said({ atMs: 0, tone: 'plain', text: 'a "quoted" sentence' });
    display.show(progress({ running: 1, starting: 0, pending: 0 }, 1));
    display.show(progress({ running: 1, starting: 0, pending: 0 }, 2));
    display.event('provisioned', { claims: 2 });
    const events = lines().map((line) => JSON.parse(line) as { readonly time: string; readonly event: string });
    expect(events.map(({ event }) => event)).toEqual(['part-ready', 'said', 'state', 'provisioned']);
    expect(events.every(({ time }) => time === '1970-01-01T00:00:00.000Z')).toBe(true);
  });
});

test('what a terminal would obey in a sentence is shown as its number, and escaped in JSON, which says the same', () => {
  const text = 'a\u001B[2J\u202Eb\nc';
  const [plain, json] = [recorder(), recorder()];
  for (const display of [createPlainDisplay(plain.write, () => 0), createJsonDisplay(json.write, () => 0)]) {
    display.said({ atMs: 0, tone: 'bad', text });
    display.last(text);
  }
  const [said = '', ...last] = plain.lines();
  expect(said).toContain('a\\u{1b}[2J\\u{202e}b c');
  expect(last).toEqual(['a\\u{1b}[2J\\u{202e}b', 'c']);
  for (const line of json.lines()) {
    expect(isHarmless(line)).toBe(true);
    expect(JSON.parse(line)).toMatchObject({ text });
  }
});

describe('the summary', () => {
  const summary: Summary = {
    view,
    plans: { decisions: 1, cost: 970_000, lowerBound: 960_000 },
    times: { toVmPut: { count: 16, p50: 640, p99: 702 }, toRunning: { count: 16, p50: 14_200, p99: 16_100 } },
    wantedPods: 16,
    outcome: 'all-run',
    priceSource: 'Azure Retail Prices, westeurope',
  };

  test('counts nodes by size, zone and price, and gives cost, bound and times', () => {
    expect(renderSummary(summary)).toMatchInlineSnapshot(`
      "
      All 16 pods run on 3 nodes for $0.970/h.

        NODES  SIZE               ZONE  TYPE        $/H EACH       $/H   PODS
            2  D8ls_v5            1     on-demand      0.388     0.776     13
            1  D4als_v6           1     on-demand      0.194     0.194      3

        The plan                          at most 1.1 % above the cheapest possible
        From unschedulable to VM PUT      p50 0.64 s, p99 0.70 s (16 pods)
        From unschedulable to running     p50 14.2 s, p99 16.1 s (16 pods)
        Prices: Azure Retail Prices, westeurope"
    `);
  });

  test('calls no plan the cheapest that was made of several decisions, nor one whose machines Azure did not have', () => {
    const cheapest = { decisions: 1, cost: 970_000, lowerBound: 970_000 };
    expect(renderSummary({ ...summary, plans: cheapest })).toContain('the cheapest possible');
    expect(renderSummary({ ...summary, plans: { ...cheapest, decisions: 2 } })).not.toContain('cheapest');
    expect(renderSummary({ ...summary, plans: { ...cheapest, cost: 900_000 } })).not.toContain('cheapest');
  });

  test('says of two pods that both run', () => {
    const pods = { running: 2, starting: 0, pending: 0 };
    expect(renderSummary({ ...summary, view: { ...view, pods } })).toContain('Both pods run on 3 nodes');
  });

  test('of a run that could not place all pods gives the reasons', () => {
    const waiting = [{ reason: 'all pools: too big; ask for less', pods: ['default/a', 'default/b'] }];
    const text = renderSummary({
      ...summary,
      outcome: 'stuck',
      view: { ...view, waiting, pods: { running: 14, starting: 0, pending: 2 } },
      times: { toVmPut: null, toRunning: null },
    });
    expect(text).toContain('14 pods run, 2 pods wait, and no more nodes can be created.');
    expect(text).toContain('  default/a and 1 more: all pools: too big; ask for less');
    expect(text).toContain('no pod got that far');
  });
});

describe('the summary of pods that wait for quota', () => {
  test('says so before the reasons of the plan', () => {
    const text = renderSummary({
      view: {
        ...view,
        waiting: [{ reason: 'general-purpose: nothing is available', pods: ['default/a'] }],
        shortages: [shortage],
        pods: { running: 3, starting: 0, pending: 7 },
      },
      plans: { decisions: 0, cost: 0, lowerBound: 0 },
      times: { toVmPut: null, toRunning: null },
      wantedPods: 10,
      outcome: 'stuck',
      priceSource: 'somewhere',
    });
    expect(text).toContain(`\n\n  ${inWords}\n\n  default/a: general-purpose: nothing is available`);
  });
});

describe('the last word of a run that somebody ends', () => {
  const session = {
    elapsedMs: 245_000,
    view: { ...view, pods: { running: 16, starting: 0, pending: 1 } },
    nodes: { joined: 5, gone: 2 },
    toRunning: { count: 23, p50: 13_900, p99: 16_100 },
    savedMicroUsdPerHour: 194_000,
  };

  test('says what came and went, what ran, and what it costs at the end', () => {
    expect(renderSession(session)).toMatchInlineSnapshot(`
      "
      In 4 min 05 s: 5 nodes joined, 2 nodes removed, which saves $0.194/h.
      23 pods waited for a node and ran: half within 13.9 s.
      At the end: 16 pods on 3 nodes for $0.970/h, 1 pod waits."
    `);
  });

  test('fits 80 columns, and says so when nothing has happened', () => {
    const many = { joined: 1_200, gone: 1_100 };
    for (const line of renderSession({ ...session, nodes: many }).split('\n'))
      expect(line.length).toBeLessThanOrEqual(80);
    const nothing = { ...session, nodes: { joined: 0, gone: 0 }, toRunning: null, savedMicroUsdPerHour: 0 };
    expect(renderSession(nothing)).toContain('In 4 min 05 s: no nodes joined, no nodes removed.');
    expect(renderSession(nothing)).toContain('No pod had to wait for a node.');
  });
});

describe('the hints', () => {
  const places = {
    kubeconfigPath: '/tmp/nodewright-abcdef/cluster/kubeconfig',
    functionsUrl: 'http://127.0.0.1:54321',
    portInUse: 7071,
    hasKeys: false,
    deployment: 'inflate',
  };

  test('fit 80 columns where the folder of temporary files is short', () => {
    const keys = (['on', 'paused', 'off'] as const).map(keysHint);
    for (const hint of [...renderHints(places), ...keys]) expect(hint.length).toBeLessThanOrEqual(80);
  });

  test('name the Deployment that there is, and none where there is none', () => {
    expect(renderHints(places).join('\n')).toContain('scale deployment inflate');
    expect(renderHints({ ...places, deployment: null }).join('\n')).not.toContain('scale');
  });

  test('say of the key d what it would change, and nothing where no node ever goes', () => {
    expect(keysHint('paused')).toContain('d consolidate');
    expect(keysHint('on')).toContain('d keep all nodes');
    expect(keysHint('off')).not.toContain(' d ');
  });

  test('end with where the cluster is, and with the keys where they are read', () => {
    expect(renderHints({ ...places, hasKeys: true }).at(-1)).toContain('export KUBECONFIG=');
    const page = readFileSync(join(import.meta.dirname, '../../../../README.md'), 'utf8');
    const recorded = readFileSync(join(import.meta.dirname, '../../../../docs/terminal.txt'), 'utf8');
    const port = { ...places, functionsUrl: 'http://127.0.0.1:7071', portInUse: null, hasKeys: true };
    const hints = [...renderHints(port).filter((hint) => !hint.includes('KUBECONFIG')), keysHint('paused')];
    for (const hint of hints) {
      expect(page).toContain(`    ${hint}\n`);
      expect(recorded).toContain(`\n${hint}\n`);
    }
  });
});
