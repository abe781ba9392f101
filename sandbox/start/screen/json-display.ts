import { harmlessJson } from '../../../shared/contract/harmless.ts';
import { shortageSentence } from '../tell/sentences.ts';
import type { Display, Progress } from './display.ts';

/** One JSON object per line and event, each with `time` (RFC 3339) and `event`. */
export function createJsonDisplay(write: (text: string) => void, now: () => number): Display {
  let lastState = '';
  const emit = (event: string, facts: Readonly<Record<string, unknown>>): void => {
    write(`${harmlessJson(JSON.stringify({ time: new Date(now()).toISOString(), event, ...facts }))}\n`);
  };
  return {
    started: (part, elapsedMs) => {
      emit('part-ready', { part, elapsedMs });
    },
    ready: (hints) => {
      emit('ready', { hints: hints.filter((hint) => hint !== '') });
    },
    said: ({ text, tone }) => {
      emit('said', { tone, text });
    },
    event: emit,
    show: ({ view, savedMicroUsdPerHour }: Progress) => {
      const nodes = view.nodes.map(({ name, size, zone, capacityType, microUsdPerHour, state, pods }) => ({
        name,
        size,
        zone,
        capacityType,
        microUsdPerHour,
        state: state.kind,
        pods,
      }));
      const quota = view.shortages.map((shortage) => ({ ...shortage, text: shortageSentence(shortage) }));
      const state = {
        pods: view.pods,
        waiting: view.waiting,
        quota,
        microUsdPerHour: view.microUsdPerHour,
        savedMicroUsdPerHour,
        nodes,
      };
      const text = JSON.stringify(state);
      if (text === lastState) return;
      lastState = text;
      emit('state', state);
    },
    last: (text) => {
      emit('last', { text });
    },
    scroll: () => undefined,
    close: () => undefined,
  };
}
