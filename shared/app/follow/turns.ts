import type { FollowedObject } from '../../contract/messages.ts';
import { nameOf } from '../../contract/queue-messages.ts';
import type { Step } from './node-claim.ts';

/** Lets each object be moved by one at a time, in this process; different objects beside each other. */
export interface Turns {
  /**
   * Runs `task` once nothing else moves the object here. One that has not begun yet serves all who come meanwhile, with the
   * latest pod event that any of them tells.
   */
  take(object: FollowedObject, task: (object: FollowedObject) => Promise<Step>): Promise<Step>;
}

interface Turn {
  /** Fulfilled when what runs has ended, in whatever way. */
  ended: Promise<void>;
  next: { object: FollowedObject; readonly step: Promise<Step> } | null;
}

/** Makes one in which nobody has a turn. */
export function createTurns(): Turns {
  const turns = new Map<string, Turn>();

  function begin(object: FollowedObject, task: (object: FollowedObject) => Promise<Step>): Promise<Step> {
    const name = nameOf(object);
    const step = task(object);
    const turn: Turn = { ended: Promise.resolve(), next: null };
    const end = (): void => {
      if (turn.next === null) turns.delete(name);
    };
    turn.ended = step.then(end, end);
    turns.set(name, turn);
    return step;
  }

  return {
    take: (object, task) => {
      const turn = turns.get(nameOf(object));
      if (turn === undefined) return begin(object, task);
      if (turn.next === null) {
        // Read when its time has come: until then others may have told a later event.
        const step = turn.ended.then(() => begin(turn.next?.object ?? object, task));
        turn.next = { object, step };
      } else if ((object.podEventMs ?? -1) > (turn.next.object.podEventMs ?? -1)) {
        turn.next.object = object;
      }
      return turn.next.step;
    },
  };
}
