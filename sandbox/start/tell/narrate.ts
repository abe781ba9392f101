import { vmNameOf } from '../../../shared/contract/vm-name.ts';
import { annotation } from '../../../shared/contract/names.ts';
import type { AzureEvent } from '../../azure/arm/resources.ts';
import { type AppEvent, numberFact, textFact } from '../view/app-events.ts';
import { type NodeClaim, type Offering, offeringOf } from '../view/cluster-objects.ts';
import {
  joinedSentence,
  noticeSentence,
  provisionedSentence,
  type Refusal,
  refusedSentence,
  removedSentence,
  spotAvoidedSentence,
} from './sentences.ts';
import { givenUp, retrySentence, SENTENCES } from './tell-event.ts';
import type { Sentence } from '../view/view.ts';

/** What a narrator needs. */
export interface NarratorOptions {
  readonly claims: () => ReadonlyMap<string, NodeClaim>;
  readonly say: (tone: Sentence['tone'], text: string) => void;
  /** Calls `act` after a while. Absent: by the clock, without keeping the process alive. */
  readonly later?: Later;
}

/** Calls `act` after `ms` milliseconds. */
export type Later = (act: () => void, ms: number) => void;

const byTheClock: Later = (act, ms) => {
  setTimeout(act, ms).unref();
};

/**
 * Puts what happens into sentences: one for each decision, one for many nodes that join together. What is not in them
 * is silent.
 */
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

/** Makes a narrator. */
export function createNarrator({ claims, say, later = byTheClock }: NarratorOptions): Narrator {
  const joined = gatherTogether<{ readonly name: string; readonly sinceLaunchMs: number }>(later, (nodes) => {
    say('good', joinedSentence(nodes));
  });
  const removed = gatherTogether<string>(later, (nodes) => {
    say('plain', removedSentence(nodes));
  });
  // What never joined was given up, which has its own sentence.
  const inUse = new Set<string>();
  const refused = gatherTogether<Refusal & { readonly claim: string }>(later, (refusals) => {
    say('warn', refusedSentence(refusals));
  });
  /** True where the refusals of the claim are about to be told: they say then that nothing else was left. */
  const wasLast = (claim: string): boolean =>
    refused.change((refusal) => (refusal.claim === claim ? { ...refusal, wasLast: true } : refusal));
  const retried = gatherTogether<string>(later, (errors) => {
    say('warn', retrySentence(errors));
  });
  // By their end.
  const shortagesTold = new Set<string>();
  const tellers: Readonly<Record<string, (event: AppEvent) => void>> = {
    provisioned: (event) => tellProvisioned(event, { claims, say, later }),
    'spot-avoided': (event) => {
      const until = textFact(event, 'until');
      if (shortagesTold.has(until)) return;
      shortagesTold.add(until);
      say('warn', spotAvoidedSentence(numberFact(event, 'refusedSizes')));
    },
    'nodeclaim-registered': (event) => {
      inUse.add(textFact(event, 'claim'));
      joined.add({ name: textFact(event, 'node'), sinceLaunchMs: numberFact(event, 'sinceLaunchMs') });
    },
    'nodeclaim-terminated': (event) => {
      const claim = textFact(event, 'claim');
      if (inUse.delete(claim)) removed.add(vmNameOf(claim));
    },
    'nodeclaim-deleted': (event) => {
      const isTold = textFact(event, 'reason') === 'InsufficientCapacityError' && wasLast(textFact(event, 'claim'));
      const told = isTold ? null : givenUp(event);
      if (told !== null) say(told.tone, told.text);
    },
    'offering-refused': (event) => {
      const offering = { size: textFact(event, 'instanceType'), zone: textFact(event, 'zone') };
      const [claim, reason] = [textFact(event, 'claim'), textFact(event, 'reason')];
      refused.add({ ...offering, capacityType: '', reason, claim, wasLast: false });
    },
    'retry-later': (event) => {
      retried.add(textFact(event, 'error'));
    },
  };
  return {
    tellApp: (event) => {
      const tell = Object.hasOwn(tellers, event.event) ? tellers[event.event] : undefined;
      const sentence = Object.hasOwn(SENTENCES, event.event) ? SENTENCES[event.event]?.(event) : undefined;
      if (tell !== undefined) tell(event);
      else if (sentence !== undefined && sentence !== null) say(sentence.tone, sentence.text);
    },
    tellAzure: (event) => {
      const text = azureSentence(event);
      if (text !== null) say('warn', text);
    },
    close: () => {
      joined.flush();
      removed.flush();
      refused.flush();
      retried.flush();
    },
  };
}

/** A decision names its machines once the watch has shown the claims. */
function tellProvisioned(event: AppEvent, { claims, say, later }: Required<NarratorOptions>): void {
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
    later,
    () => machines().length >= wanted,
    () => say('plain', provisionedSentence({ machines: machines(), ...amounts })),
  );
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
    case 'vm-gone':
      return event.reason === 'deleted' ? null : `Azure has taken ${event.name} (${event.reason}).`;
    // Nodewright gives its NodeClaim up, and says why.
    case 'vm-failed':
    case 'vm-allocated':
    case 'vm-running':
      return null;
    default:
      return event satisfies never;
  }
}

interface Gatherer<T> {
  add(item: T): void;
  /** Changes what is not told yet; true where that changed anything. */
  change(to: (item: T) => T): boolean;
  flush(): void;
}

function gatherTogether<T>(later: Later, tell: (items: ReadonlyArray<T>) => void): Gatherer<T> {
  let items: ReadonlyArray<T> = [];
  const flush = (): void => {
    const gathered = items;
    items = [];
    if (gathered.length > 0) tell(gathered);
  };
  return {
    flush,
    change: (to) => {
      const changed = items.map(to);
      const isChanged = changed.some((item, index) => item !== items[index]);
      items = changed;
      return isChanged;
    },
    add: (item) => {
      if (items.length === 0) later(flush, TOGETHER_MS);
      items = [...items, item];
    },
  };
}

function whenSeen(later: Later, isSeen: () => boolean, tell: () => void, looks = 0): void {
  if (isSeen() || looks >= CLAIMS_LOOKS_MAX) tell();
  else later(() => whenSeen(later, isSeen, tell, looks + 1), CLAIMS_LOOK_MS);
}
