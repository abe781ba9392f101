import type { AzureEvent } from '../../azure/arm/resources.ts';
import { type AppEvent, numberFact, textFact } from '../view/app-events.ts';
import type { NodeClaim } from '../view/cluster-objects.ts';
import type { Display } from '../screen/display.ts';
import { createNarrator, type Later } from '../tell/narrate.ts';
import type { Plans } from '../view/plan-gap.ts';
import { createSavings } from './savings.ts';
import type { Sentence } from '../view/view.ts';

/** Sentences kept for the screen; a tall terminal shows fewer. */
const NEWS_MAX = 100;

/** What has happened in this run. */
export interface RunLog {
  readonly news: () => ReadonlyArray<Sentence>;
  readonly plans: () => Plans;
  /** Nodes that have joined, and that have gone with their machines. */
  readonly nodes: () => { readonly joined: number; readonly gone: number };
  readonly savedMicroUsdPerHour: () => number;
  say(tone: Sentence['tone'], text: string): void;
  /** Calls the listener for every decision that has a place for all pods. */
  onPlanned(listener: () => void): void;
  /** Calls the listener for everything that the app logs. */
  onApp(listener: (event: AppEvent) => void): void;
  tellApp(event: AppEvent): void;
  tellAzure(event: AzureEvent): void;
  close(): void;
}

/** Keeps the log of a run and passes it on to the display as it grows. */
export function createRunLog(
  display: Display,
  elapsedMs: () => number,
  claims: () => ReadonlyMap<string, NodeClaim>,
  later?: Later,
): RunLog {
  let news: ReadonlyArray<Sentence> = [];
  let plans: Plans = { decisions: 0, cost: 0, lowerBound: 0 };
  let nodes = { joined: 0, gone: 0 };
  let onPlanned = (): void => undefined;
  let onApp = (_event: AppEvent): void => undefined;
  const say = (tone: Sentence['tone'], text: string): void => {
    const sentence = { atMs: elapsedMs(), tone, text };
    news = [...news, sentence].slice(-NEWS_MAX);
    display.said(sentence);
  };
  const savings = createSavings();
  const inUse = new Set<string>();
  const count = (event: AppEvent): void => {
    const claim = textFact(event, 'claim');
    if (event.event === 'nodeclaim-registered') {
      inUse.add(claim);
      nodes = { ...nodes, joined: nodes.joined + 1 };
    }
    // What never joined was no node.
    if (event.event === 'nodeclaim-terminated' && inUse.delete(claim)) nodes = { ...nodes, gone: nodes.gone + 1 };
  };
  const narrator = createNarrator({ claims, say, ...(later === undefined ? {} : { later }) });
  return {
    news: () => news,
    plans: () => plans,
    nodes: () => nodes,
    savedMicroUsdPerHour: savings.savedMicroUsdPerHour,
    say,
    onPlanned: (listener) => {
      onPlanned = listener;
    },
    onApp: (listener) => {
      onApp = listener;
    },
    tellApp: (event) => {
      onApp(event);
      savings.tellApp(event);
      display.event(event.event, event.facts);
      if (event.event === 'provisioned') {
        plans = {
          decisions: plans.decisions + 1,
          cost: plans.cost + numberFact(event, 'costMicroPerHour'),
          lowerBound: plans.lowerBound + numberFact(event, 'lowerBoundMicroPerHour'),
        };
        if (numberFact(event, 'left') === 0) onPlanned();
      }
      count(event);
      narrator.tellApp(event);
    },
    tellAzure: (event) => {
      const { name, size, zone } = 'vm' in event ? event.vm : { name: event.name, size: null, zone: null };
      display.event(event.kind, { name, size, zone });
      narrator.tellAzure(event);
    },
    close: () => {
      narrator.close();
    },
  };
}
