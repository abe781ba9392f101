import type { FollowedObject } from '../../contract/messages/messages.ts';
import { nameOf } from '../../contract/messages/queue-messages.ts';
import type { FollowOutcome } from './follow-outcome.ts';

/** Lets each object be moved by one at a time, in this process; different objects beside each other. */
export interface Turns {
  /**
   * Runs `task` once nothing else moves the object here. One that has not begun yet serves all who come meanwhile, with
   * the latest pod event that any of them tells.
   */
  take(object: FollowedObject, task: (object: FollowedObject) => Promise<FollowOutcome>): Promise<FollowOutcome>;
}

interface Turn {
  /** Fulfilled when what runs has ended, in whatever way. */
  ended: Promise<void>;
  next: Next | null;
}

/** What begins when it has. */
interface Next {
  object: FollowedObject;
  readonly outcome: Promise<FollowOutcome>;
}

/** Makes one in which nobody has a turn. */
export function createTurns(): Turns {
  const turns = new Map<string, Turn>();

  function begin(
    object: FollowedObject,
    task: (object: FollowedObject) => Promise<FollowOutcome>,
  ): Promise<FollowOutcome> {
    const name = nameOf(object);
    const outcome = task(object);
    const turn: Turn = { ended: Promise.resolve(), next: null };
    const end = (): void => {
      if (turn.next === null) turns.delete(name);
    };
    turn.ended = outcome.then(end, end);
    turns.set(name, turn);
    return outcome;
  }

  return {
    take: (object, task) => {
      const turn = turns.get(nameOf(object));
      if (turn === undefined) return begin(object, task);
      if (turn.next === null) {
        // Read when its time has come: until then others may have told a later event.
        const next: Next = { object, outcome: turn.ended.then(() => begin(next.object, task)) };
        turn.next = next;
        // Stryker disable next-line EqualityOperator: objects of the same name and event are alike
      } else if ((object.podEventMs ?? 0) > (turn.next.object.podEventMs ?? 0)) {
        turn.next.object = object;
      }
      return turn.next.outcome;
    },
  };
}
