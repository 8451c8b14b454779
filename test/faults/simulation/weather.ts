// How often what goes wrong, drawn once for every schedule: some are calm, some are stormy in one respect, and after a
// while all of them are calm, so that the service can show that it recovers.

import type { Chance } from './chance.ts'

const TROUBLES = [
  /** The database: the statement never arrives, its answer never comes back, either takes long. */
  'statementLost',
  'resultLost',
  'databaseSlow',
  /** A gateway: nothing leaves us; the request, the answer or its meaning gets lost; it arrives late, or twice. */
  'notSent',
  'requestLost',
  'answerLost',
  'answerGarbled',
  'requestLate',
  'requestTwice',
  /** What a gateway does: it refuses to begin, begins late, tells what was true a while ago. */
  'refuses',
  'executesLate',
  'tellsOldNews',
  'collectsAnotherAmount',
  /** Its webhooks: lost, late, repeated, untrue. */
  'hookLost',
  'hookLate',
  'hookTwice',
  'hookLies',
  /** The merchant hears nothing of its request. */
  'replyLost',
] as const

export type Trouble = (typeof TROUBLES)[number]
export type Weather = Readonly<Record<Trouble, number>>

const every = (of: (trouble: Trouble) => number): Weather =>
  // The keys are exactly the troubles, which fromEntries cannot say by itself.
  Object.fromEntries(TROUBLES.map((trouble) => [trouble, of(trouble)])) as Record<Trouble, number>

export const CALM: Weather = every(() => 0)

const STRENGTHS = [0, 0, 0.03, 0.15, 0.4]

export function drawWeather(chance: Chance): Weather {
  return chance.happens(0.1) ? CALM : every(() => chance.pick(STRENGTHS))
}
