// The load driver, a separate process, so that its processor time is known.

import { type LoadOrder, runLoad } from './load.ts'

process.on('message', (order: LoadOrder) => {
  void runLoad(order).then((report) => process.send?.(report))
})
