import { type AppEvent, numberFact } from '../view/app-events.ts';

/** What the removal of nodes has saved so far, as the app's own decisions say. */
export interface Savings {
  tellApp(event: AppEvent): void;
  /** Micro-USD per hour, less what replacements cost. */
  readonly savedMicroUsdPerHour: () => number;
}

/** Makes one that has saved nothing. A decision counts when its nodes go; one is on its way at a time. */
export function createSavings(): Savings {
  let saved = 0;
  let begun = 0;
  return {
    savedMicroUsdPerHour: () => saved,
    tellApp: (event) => {
      if (event.event === 'disruption-begun') begun = numberFact(event, 'savedMicroPerHour');
      if (event.event === 'disruption-taken-back') begun = 0;
      if (event.event !== 'disrupted') return;
      saved += begun;
      begun = 0;
    },
  };
}
