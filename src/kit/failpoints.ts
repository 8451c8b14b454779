// Places in the money path where a test can make the process die, throw, hang or wait. They do nothing unless a setting
// names them, and the setting is refused in production.

import { setTimeout as delay } from 'node:timers/promises'

export const FAILPOINTS = [
  'charge.before_record',
  'charge.after_record',
  'charge.after_call',
  'charge.after_settle',
  'checkout.before_start',
  'checkout.after_start',
  'checkout.after_answer',
  'checkout.after_call',
  'refund.before_record',
  'refund.after_record',
  'refund.after_mark',
  'refund.after_call',
  'refund.after_settle',
  'p2p.after_move',
  'resolver.after_claim',
  'resolver.after_question',
  'delivery.after_claim',
  'delivery.after_answer',
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

const ACTIONS = ['kill', 'throw', 'hang'] as const
type Action = (typeof ACTIONS)[number]

export interface Failpoints {
  pass(point: Failpoint): Promise<void>
}

const NEVER: Failpoints = { pass: () => Promise.resolve() }

/** `charge.after_record=kill,charge.after_call=throw`; what is wrong with the text, or the failpoints it asks for. */
export function readFailpoints(text: string): { failpoints: Failpoints } | { wrong: string } {
  const actions = new Map<string, Action>()
  for (const part of text.split(',').filter((one) => one !== '')) {
    const [point = '', word = ''] = part.split('=')
    const action = ACTIONS.find((one) => one === word)
    if (!FAILPOINTS.some((one) => one === point) || !action) {
      return {
        wrong: `has ${part}, which is not <point>=<${ACTIONS.join('|')}> with one of ${FAILPOINTS.join(', ')}`,
      }
    }
    actions.set(point, action)
  }
  return { failpoints: actions.size === 0 ? NEVER : { pass: (point) => act(point, actions.get(point)) } }
}

async function act(point: Failpoint, action: Action | undefined): Promise<void> {
  if (action === 'kill') process.kill(process.pid, 'SIGKILL')
  if (action === 'throw') throw new Error(`failpoint ${point}`)
  // Longer than any lease: whoever hangs here has been taken over when it wakes up.
  if (action === 'hang') await delay(120_000)
}
