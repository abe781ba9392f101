import { annotation } from '../../shared/contract/names.ts';
import type { AzureEvent } from '../azure/resources.ts';
import { type AppEvent, numberFact, textFact } from './app-events.ts';
import { type NodeClaim, type Offering, offeringOf } from './cluster-objects.ts';
import {
  begunSentence,
  interruptedSentence,
  joinedSentence,
  noticeSentence,
  provisionedSentence,
  refusedSentence,
  removedSentence,
} from './sentences.ts';
import type { Sentence } from './view.ts';

/** What a narrator needs. */
export interface NarratorOptions {
  readonly claims: () => ReadonlyMap<string, NodeClaim>;
  readonly say: (tone: Sentence['tone'], text: string) => void;
}

/** Puts what happens into sentences: one for each decision, one for many nodes that join together. */
export interface Narrator {
  tellApp(event: AppEvent): void;
  tellAzure(event: AzureEvent): void;
  /** Says what is still being gathered. */
  close(): void;
}

/** Nodes that join or go within this time share a sentence. */
const TOGETHER_MS = 700;
/** The watch shows a decision's claims a moment after the decision is logged; then the sentence goes without them. */
const CLAIMS_LOOKS_MAX = 40;
const CLAIMS_LOOK_MS = 50;

/** What the app logs at every step, and what others tell better. */
const SILENT: ReadonlySet<string> = new Set([
  'followed',
  'looked',
  'planned',
  'signal',
  'swept',
  'nodeclaim-launched',
  'nodeclaim-initialized',
  'node-opened',
  'node-draining',
  'decision-resumed',
  'disruption-looked',
  'disrupted',
]);

/** Makes a narrator. Its timers never keep the process alive. */
export function createNarrator({ claims, say }: NarratorOptions): Narrator {
  const joined = gatherTogether<{ readonly name: string; readonly sinceLaunchMs: number }>((nodes) => {
    say('good', joinedSentence(nodes));
  });
  const removed = gatherTogether<string>((nodes) => {
    say('plain', removedSentence(nodes));
  });
  const refused = gatherTogether<Offering & { readonly reason: string }>((refusals) => {
    say('warn', refusedSentence(refusals));
  });
  const tellers: Readonly<Record<string, (event: AppEvent) => void>> = {
    ...decisionTellers({ claims, say }),
    'nodeclaim-registered': (event) => {
      joined.add({ name: textFact(event, 'node'), sinceLaunchMs: numberFact(event, 'sinceLaunchMs') });
    },
    'nodeclaim-terminated': (event) => {
      removed.add(`aks-${textFact(event, 'claim')}`);
    },
    'offering-refused': (event) => {
      const offering = { size: textFact(event, 'instanceType'), zone: textFact(event, 'zone') };
      refused.add({ ...offering, capacityType: '', reason: textFact(event, 'reason') });
    },
    'nodeclaim-deleted': (event) => {
      const why = textFact(event, 'message') || textFact(event, 'reason');
      say('plain', `aks-${textFact(event, 'claim')} is being removed${why === '' ? '' : `: ${why}`}.`);
    },
    'orphan-deleted': (event) => {
      say('warn', `A VM without a NodeClaim was deleted: aks-${textFact(event, 'claim')}.`);
    },
    'disruption-begun': (event) => {
      const facts = {
        reason: textFact(event, 'reason'),
        pods: numberFact(event, 'pods'),
        replacements: textFact(event, 'replacements').split(',').filter(Boolean).length,
        saved: numberFact(event, 'savedMicroPerHour'),
      };
      say('plain', begunSentence(textFact(event, 'nodes').split(','), facts));
    },
    'disruption-taken-back': (event) => {
      say('plain', `aks-${textFact(event, 'claim')} stays after all: ${textFact(event, 'why')}.`);
    },
    'relay-silent': () => {
      say('warn', 'The relay is silent; the cluster is listed directly.');
    },
  };
  return {
    tellApp: (event) => {
      const tell = Object.hasOwn(tellers, event.event) ? tellers[event.event] : undefined;
      if (tell !== undefined) tell(event);
      else if (!SILENT.has(event.event)) say('plain', renderUnknown(event));
    },
    tellAzure: (event) => {
      const text = azureSentence(event);
      if (text !== null) say('warn', text);
    },
    close: () => {
      joined.flush();
      removed.flush();
      refused.flush();
    },
  };
}

/** Decisions name their machines once the watch has shown the claims. */
function decisionTellers({ claims, say }: NarratorOptions): Readonly<Record<string, (event: AppEvent) => void>> {
  return {
    provisioned: (event) => {
      const decision = textFact(event, 'decision');
      const wanted = numberFact(event, 'claims');
      const amounts = {
        pods: numberFact(event, 'pods'),
        bufferPods: numberFact(event, 'bufferPods'),
        left: numberFact(event, 'left'),
        cost: numberFact(event, 'costMicroPerHour'),
        lowerBound: numberFact(event, 'lowerBoundMicroPerHour'),
      };
      const machines = (): ReadonlyArray<Offering> =>
        [...claims().values()].filter((claim) => decisionOf(claim) === decision).map(offeringOf);
      whenSeen(
        () => machines().length >= wanted,
        () => say('plain', provisionedSentence({ machines: machines(), ...amounts })),
      );
    },
    interrupted: (event) => {
      // Without it the pods wait for their replacement.
      const wereTold = textFact(event, 'toldAfterMs') !== '';
      say('plain', interruptedSentence(`aks-${textFact(event, 'claim')}`, numberFact(event, 'pods'), wereTold));
    },
  };
}

function decisionOf({ metadata }: NodeClaim): string {
  return metadata.annotations?.[annotation.decision] ?? '';
}

function azureSentence(event: AzureEvent): string | null {
  switch (event.kind) {
    case 'vm-preempt-notice':
      return noticeSentence(event.vm.computerName, 'preempt', event.notBefore - Date.now());
    case 'vm-scheduled-event':
      return noticeSentence(event.vm.computerName, event.eventType.toLowerCase(), event.notBefore - Date.now());
    case 'vm-failed':
      return `The VM ${event.vm.name} failed: ${event.error.code}.`;
    case 'vm-gone':
      return event.reason === 'deleted' ? null : `Azure has taken ${event.name} (${event.reason}).`;
    case 'vm-allocated':
    case 'vm-running':
      return null;
    default:
      return event satisfies never;
  }
}

/** An event that nobody has put into words yet is told as it is. */
function renderUnknown({ event, facts }: AppEvent): string {
  const told = Object.entries(facts).map(([name, value]) => `${name} ${String(value)}`);
  return [event, ...told].join(', ');
}

interface Gatherer<T> {
  add(item: T): void;
  flush(): void;
}

function gatherTogether<T>(tell: (items: ReadonlyArray<T>) => void): Gatherer<T> {
  let items: ReadonlyArray<T> = [];
  const flush = (): void => {
    const gathered = items;
    items = [];
    if (gathered.length > 0) tell(gathered);
  };
  return {
    flush,
    add: (item) => {
      if (items.length === 0) setTimeout(flush, TOGETHER_MS).unref();
      items = [...items, item];
    },
  };
}

function whenSeen(isSeen: () => boolean, tell: () => void, looks = 0): void {
  if (isSeen() || looks >= CLAIMS_LOOKS_MAX) tell();
  else setTimeout(() => whenSeen(isSeen, tell, looks + 1), CLAIMS_LOOK_MS).unref();
}
