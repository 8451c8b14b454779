// Sheds load while the event loop is late: requests of merchants get 503 before anything of them is read, so that the pages
// of payers, the webhooks of gateways, operators and background work go on. A merchant's client repeats after 503; without
// shedding it would wait, time out, and repeat on top of the work that waits already.

import { ApiError } from '../../core/errors.ts'
import { createIntervalLog } from '../../kit/observability/log-interval.ts'
import { createLoopDelay } from '../../kit/observability/loop-delay.ts'
import { errorResponse } from '../errors.ts'
import { pathOf } from '../known-paths.ts'
import type { HttpShellOptions } from '../options.ts'
import { type RefusalNeeds, type Refuse, sendRefusal } from './refusal.ts'

type Options = Pick<HttpShellOptions, 'clock' | 'log' | 'publicUrl' | 'maxLoopDelayMs' | 'loopDelay'>

interface LoadShedding {
  refuse: Refuse
  stop(): void
}

const MERCHANTS_API = /^\/api\//i
/** Made once: an error records its stack, which takes longer than the rest of a refusal. */
const UNAVAILABLE = new ApiError('temporarily_unavailable')

export function createLoadShedding(options: Options, needs: RefusalNeeds): LoadShedding {
  const { clock, log, publicUrl, maxLoopDelayMs = 0, loopDelay = createLoopDelay() } = options
  if (maxLoopDelayMs === 0) return { refuse: () => false, stop: () => undefined }
  let delayMs = 0
  const report = createIntervalLog({ clock }, (_, count) =>
    log.write('http.load_shed', { count, durationMs: Math.round(delayMs) }),
  )
  return {
    refuse(request, reply) {
      if (!MERCHANTS_API.test(request.routeOptions.url ?? pathOf(request.raw.url))) return false
      delayMs = loopDelay.read()
      if (delayMs <= maxLoopDelayMs) return false
      report('')
      const { accept } = request.headers
      const refusal = errorResponse(UNAVAILABLE, { requestId: request.id, accept, publicUrl: publicUrl() })
      sendRefusal(request, reply, needs, refusal)
      return true
    },
    stop: loopDelay.stop,
  }
}
