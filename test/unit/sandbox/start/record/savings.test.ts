import { expect, test } from 'vitest';
import { createSavings } from '../../../../../sandbox/start/record/savings.ts';

const begun = (saved: number) => ({ event: 'disruption-begun', facts: { savedMicroPerHour: saved } });
const gone = { event: 'disrupted', facts: { claim: 'a' } };

test('what a decision saves counts when its nodes go, once, however many they are', () => {
  const savings = createSavings();
  savings.tellApp(begun(300));
  expect(savings.savedMicroUsdPerHour()).toBe(0);
  savings.tellApp(gone);
  savings.tellApp(gone);
  savings.tellApp(begun(100));
  savings.tellApp(gone);
  expect(savings.savedMicroUsdPerHour()).toBe(400);
});

test('a decision that is taken back has saved nothing', () => {
  const savings = createSavings();
  savings.tellApp(begun(300));
  savings.tellApp({ event: 'disruption-taken-back', facts: {} });
  savings.tellApp(gone);
  expect(savings.savedMicroUsdPerHour()).toBe(0);
});
