import { vmNameOf } from '../../../shared/contract/vm-name.ts';
import { annotation } from '../../../shared/contract/names.ts';
import type { AzureEvent } from '../../azure/arm/resources.ts';
import { type AppEvent, numberFact, textFact } from '../view/app-events.ts';
import { type NodeClaim, type Offering, offeringOf } from '../view/cluster-objects.ts';
import { joinedSentence, noticeSentence, provisionedSentence, refusedSentence, removedSentence } from './sentences.ts';
import { retrySentence, SENTENCES } from './tell-event.ts';
import type { Sentence } from '../view/view.ts';

/** What a narrator needs. */
export interface NarratorOptions {
  readonly claims: () => ReadonlyMap<string, NodeClaim>;
  readonly say: (tone: Sentence['tone'], text: string) => void;
}

/** Puts what happens into sentences: one for each decision, one for many nodes that join together. What is not in them is silent. */
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
  const retried = gatherTogether<string>((errors) => {
    say('warn', retrySentence(errors));
  });
  const tellers: Readonly<Record<string, (event: AppEvent) => void>> = {
    provisioned: (event) => tellProvisioned(event, { claims, say }),
    'nodeclaim-registered': (event) => {
      joined.add({ name: textFact(event, 'node'), sinceLaunchMs: numberFact(event, 'sinceLaunchMs') });
    },
    'nodeclaim-terminated': (event) => {
      removed.add(vmNameOf(textFact(event, 'claim')));
    },
    'offering-refused': (event) => {
      const offering = { size: textFact(event, 'instanceType'), zone: textFact(event, 'zone') };
      refused.add({ ...offering, capacityType: '', reason: textFact(event, 'reason') });
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
function tellProvisioned(event: AppEvent, { claims, say }: NarratorOptions): void {
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
      return `VM ${event.vm.name} failed: ${event.error.code}.`;
    case 'vm-gone':
      return event.reason === 'deleted' ? null : `Azure has taken ${event.name} (${event.reason}).`;
    case 'vm-allocated':
    case 'vm-running':
      return null;
    default:
      return event satisfies never;
  }
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
