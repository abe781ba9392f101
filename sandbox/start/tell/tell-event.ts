import { vmNameOf } from '../../../shared/contract/vm-name.ts';
import { type AppEvent, numberFact, textFact } from '../view/app-events.ts';
import { counted, shortZone } from '../view/amounts.ts';
import { begunSentence, interruptedSentence, renderNodes } from './sentences.ts';
import type { Sentence } from '../view/view.ts';

/** One event of the app in one sentence. */
export type Told = Pick<Sentence, 'tone' | 'text'>;

/**
 * Events that are no news by themselves: a step among many, or one that another event or the table of nodes tells
 * better.
 */
export const SILENT: ReadonlySet<string> = new Set([
  'claim-not-stamped',
  'cluster-seen',
  'decision-resumed',
  'disrupted',
  'disruption-looked',
  'followed',
  'looked',
  'node-opened',
  'nodeclaim-created',
  'nodeclaim-initialized',
  'nodeclaim-launched',
  'planned',
  'pods-left',
  'quotas-read',
  'signal',
  'swept',
]);

const plain = (text: string): Told => ({ tone: 'plain', text });
const warn = (text: string): Told => ({ tone: 'warn', text });
const bad = (text: string): Told => ({ tone: 'bad', text });

/** The node of the claim that an event names. */
const nodeOf = (event: AppEvent): string => vmNameOf(textFact(event, 'claim'));
const poolOf = (event: AppEvent): string => `NodePool ${textFact(event, 'nodePool')}`;
const listOf = (event: AppEvent, name: string): ReadonlyArray<string> =>
  textFact(event, name).split(',').filter(Boolean);

/** `: REASON.`, or only the full stop: what others said comes last, where it may be cut. */
function because(event: AppEvent, ...names: ReadonlyArray<string>): string {
  const said = names.map((name) => textFact(event, name)).find((text) => text !== '') ?? '';
  return said === '' ? '.' : `: ${said.replace(/\.$/, '')}.`;
}

/** Who says no to a write. */
function denierOf(event: AppEvent): string {
  const policy = textFact(event, 'policy');
  return policy === '' ? 'The API server' : `The policy ${policy}`;
}

/** What each event that stands for itself is on the screen. Names as in docs/logs.md. */
export const SENTENCES: Readonly<Record<string, (event: AppEvent) => Told | null>> = {
  // Why Nodewright removes a node has a sentence of its own.
  'node-draining': (event) =>
    textFact(event, 'cause') === 'deleted'
      ? plain(`${nodeOf(event)} is being drained, because its NodeClaim or NodePool was deleted.`)
      : null,
  'decision-lost': (event) =>
    bad(`The record of a decision is lost; its NodeClaims continue by themselves${because(event, 'why')}`),
  'decision-passed-over': () => warn('A decision was not carried out in time; its pods will be planned again.'),
  'plan-refused': () => bad('A plan did not pass its audit, an error of Nodewright: a simpler one was made.'),
  'figures-lost': (event) => warn(`The figures of a plan could not be written${because(event, 'reason')}`),
  'nodeclaim-refused': (event) =>
    bad(`${denierOf(event)} refuses the NodeClaim ${textFact(event, 'claim')}${because(event, 'reason')}`),
  'nodeclaim-not-made': (event) =>
    warn(`${nodeOf(event)} was not created; its pods will be planned again${because(event, 'why')}`),
  'nodeclaim-withdrawn': (event) =>
    plain(`${nodeOf(event)} is deleted before it has joined, because no pod waits for it any more.`),
  'nodeclaim-not-withdrawn': (event) =>
    warn(`No pod waits for ${nodeOf(event)} any more, and it could not be deleted${because(event, 'why')}`),
  'replacement-taken-back': (event) => plain(`${nodeOf(event)} is no longer needed as a replacement.`),
  'launch-rejected': (event) =>
    bad(`Azure refuses every machine for ${nodeOf(event)}${because(event, 'message', 'reason')}`),
  'pods-not-let-in': (event) =>
    warn(`The planned pods cannot be scheduled first on ${textFact(event, 'node')}${because(event, 'why')}`),
  'node-released': (event) => plain(`${nodeOf(event)} is released, because its NodeClaim no longer exists.`),
  'machine-taken-back': (event) =>
    plain(`${nodeOf(event)} started after its NodeClaim was deleted, and is deleted too.`),
  'machine-not-equipped': (event) => warn(`${nodeOf(event)} does not have AKS's extension${because(event, 'why')}`),
  interrupted: (event) => {
    // Without it the pods wait for their replacement.
    const wereTold = textFact(event, 'toldAfterMs') !== '';
    return plain(interruptedSentence(nodeOf(event), numberFact(event, 'pods'), wereTold));
  },
  'interruption-step-refused': (event) =>
    warn(`${nodeOf(event)} is being evicted, and a step failed (${textFact(event, 'step')})${because(event, 'why')}`),
  'spot-storm': (event) => {
    const share = `${textFact(event, 'evicted')} of ${textFact(event, 'of')} spot machines`;
    return warn(
      `Azure evicted ${share} in zone ${shortZone(textFact(event, 'zone'))}: spot there is avoided for a while.`,
    );
  },
  'eviction-not-counted': (event) => warn(`An eviction could not be noted yet${because(event, 'why')}`),
  'disruption-begun': (event) => {
    const facts = {
      reason: textFact(event, 'reason'),
      pods: numberFact(event, 'pods'),
      replacements: listOf(event, 'replacements').length,
      saved: numberFact(event, 'savedMicroPerHour'),
    };
    return plain(begunSentence(listOf(event, 'nodes'), facts));
  },
  'breaker-tripped': (event) => warn(`Disruption of ${poolOf(event)} is paused${because(event, 'why')}`),
  'breaker-closed': (event) => plain(`Disruption of ${poolOf(event)} resumed${because(event, 'why')}`),
  'rollout-halted': (event) => warn(`The rollout in ${poolOf(event)} is halted${because(event, 'why')}`),
  'rollout-goes-on': (event) => plain(`The rollout in ${poolOf(event)} continues.`),
  'disruption-failure-lost': (event) => warn(`A failed removal could not be noted on ${poolOf(event)}.`),
  'replacement-unavailable-not-noted': (event) =>
    warn(`Azure refused ${nodeOf(event)}, which could not be noted${because(event, 'why')}`),
  'disruption-topped-up': (event) =>
    plain(`More nodes are created for the removal of ${renderNodes(listOf(event, 'nodes'))}${because(event, 'why')}`),
  'disruption-taken-back': (event) => plain(`${nodeOf(event)} is kept after all${because(event, 'why')}`),
  'disruption-refused': (event) =>
    plain(
      `${renderNodes(listOf(event, 'nodes'))} could be removed, but the plan for that cannot be executed${because(event, 'why')}`,
    ),
  'disruption-plan-refused': () =>
    bad('A plan to remove nodes did not pass its audit, an error of Nodewright: those nodes stay.'),
  'removal-refused': () => bad('A removal of nodes did not pass its audit, an error of Nodewright: the nodes wait.'),
  'disruption-step-refused': (event) =>
    warn(`${nodeOf(event)} is to be removed, and a step failed (${textFact(event, 'step')})${because(event, 'why')}`),
  'quotas-unknown': (event) => warn(`Azure's quotas could not be read${because(event, 'why')}`),
  'eviction-rates-unknown': (event) => warn(`Azure's eviction rates could not be read${because(event, 'why')}`),
  'eviction-rates-unreadable': (event) =>
    warn(`Azure's eviction rates have an unknown format${because(event, 'said')}`),
  'orphan-deleted': (event) => warn(`A VM without a NodeClaim was deleted: ${nodeOf(event)}.`),
  'orphan-kept': (event) =>
    warn(`A VM without a NodeClaim cannot be deleted yet, ${nodeOf(event)}${because(event, 'why')}`),
  'sweep-step-failed': (event) =>
    warn(`A step of the sweep failed (${textFact(event, 'step')})${because(event, 'why')}`),
  'surplus-kept': (event) => warn(`${nodeOf(event)} is surplus, and cannot be removed yet${because(event, 'why')}`),
  'snapshot-unreadable': (event) =>
    warn(`The relay's snapshot cannot be read; the cluster is listed directly${because(event, 'why')}`),
  'status-not-written': (event) =>
    warn(`The status of ${textFact(event, 'name')} could not be written${because(event, 'why')}`),
  'write-denied': (event) => {
    const what = `${textFact(event, 'act')} ${textFact(event, 'name')}`;
    return bad(`${denierOf(event)} forbids Nodewright to ${what}${because(event, 'reason')}`);
  },
  'write-failing': (event) =>
    warn(`Writes about ${textFact(event, 'name')} keep failing; it is left alone for a while${because(event, 'why')}`),
  'event-lost': (event) =>
    warn(`An event about ${textFact(event, 'name')} could not be written${because(event, 'why')}`),
  'surplus-deleted': (event) => plain(`${nodeOf(event)} was surplus in its static NodePool, and is removed.`),
  'left-halfway': (event) => plain(`${nodeOf(event)} was left half done, and is repaired${because(event, 'why')}`),
  'relay-silent': () => warn('The relay is silent; the cluster is listed directly.'),
  'deployment-not-ready': (event) =>
    bad(`Something that every node needs is missing${because(event, 'message', 'reason')}`),
  'left-to-sweep': (event) => warn(`A look at the pods kept failing; the next sweep looks${because(event, 'error')}`),
  'message-kept': (event) =>
    bad(
      `A message that cannot be handled is in the queue poison (${textFact(event, 'function')})${because(event, 'reason')}`,
    ),
};

/** Azure's own code, before what it says at length. */
const CODE = /^([A-Z][A-Za-z]+): /;

/** A NodeClaim was given up. Of what Azure says about its VM the code is enough: the rest is on the NodeClaim. */
export function givenUp(event: AppEvent): Told {
  const code = CODE.exec(textFact(event, 'message'))?.[1];
  if (textFact(event, 'reason') === 'AsyncProvisioningError' && code !== undefined)
    return warn(`Azure could not create ${nodeOf(event)} (${code}); its pods are planned again.`);
  return plain(`${nodeOf(event)} is being removed${because(event, 'message', 'reason')}`);
}

/** What is down or busy outside, for as many hints as wait for it. */
export function retrySentence(errors: ReadonlyArray<string>): string {
  const [first = ''] = errors;
  const again = errors.length === 1 ? 'It is tried again' : `${counted(errors.length, 'step')} are tried again`;
  return `${again} soon${first === '' ? '' : `: ${first.replace(/\.$/, '')}`}.`;
}
