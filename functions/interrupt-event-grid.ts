import { app } from '@azure/functions';
import { interrupt } from '../shared/app/interrupt.ts';
import { theApp } from '../shared/composition.ts';
import { toSignal } from '../shared/contract/event-grid.ts';
import { deliver } from './deliver.ts';

/** Events that Event Grid pushes straight to us: resource health annotations and scheduled events of VMs, in either schema. */
app.eventGrid('interruptEventGrid', {
  handler: (event, context) =>
    deliver(
      context,
      event,
      (raw) => toSignal(raw, theApp().cluster),
      async (ports, signal) => {
        const outcome = await interrupt(ports, signal);
        ports.log('signal', {
          notice: signal.event,
          outcome: outcome.kind,
          why: outcome.kind === 'ignored' ? outcome.why : null,
        });
      },
    ),
});
