import { expect, test } from 'vitest';
import { isEmpty, startBus } from './bus-under-test.ts';
import { until } from './host-under-test.ts';

test('an app that asks for empty entries gets them, and its arrays stay aligned', async () => {
  const waiting = { plain: [{ body: { n: 1 } }, { body: { n: 2 }, correlationId: 'c' }] };
  const bus = await startBus('batch,keepsEmpty', { waiting });
  await until('all were completed', () => isEmpty(bus, 'plain') && bus.began().length > 0);
  expect(bus.began()[0]?.metadata).toMatchObject({ correlationIdArray: ['', 'c'] });
});
