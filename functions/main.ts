/** The entry file that package.json names: importing a trigger's file registers it with the host. */
import './provision.ts';
import './launch.ts';
import './follow.ts';
import './interrupt.ts';
import './interrupt-event-grid.ts';
import './disrupt.ts';
import './sweep.ts';
import './catalog.ts';
import './health.ts';
