// Test instruments, and the clock that lets time pass in staging.

import { ApiError } from '../../../core/errors.ts'
import { SANDBOX_INSTRUMENTS } from '../../../gateways/sandbox/index.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { facts, notice, problemNotice, select, table } from '../../frame/components.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { developerTabs, TEST_PATH } from './tabs.ts'

interface Clock {
  advancedSeconds: number
  lastAdvancedAt: string | null
  nextDueAt: string | null
  isCaughtUp: boolean
}

const STEPS = ['60', '3600', '86400', '604800', '2592000']

/** The operations exist in staging alone: in production the screen is refused. */
export const testToolScreens: Screen[] = [
  {
    method: 'GET',
    path: '/developers/test',
    needs: ['testClock.get'],
    handle: (request) => show(request),
  },
  { method: 'POST', path: '/developers/test/clock', needs: ['testClock.advance'], handle: advance },
]

async function show(request: ScreenRequest, problem?: ApiError) {
  const { call, texts, query } = request
  const { t } = texts
  // A boundary: the operation returns a record of its schema.
  const clock = (await call('testClock.get')).data as Clock
  const body = html`<div class="head"><h1>${t('testToolsTitle')}</h1></div>${developerTabs(request, TEST_PATH)}
${query.done && notice('good', html`<p>${t('done_clock')}</p>`)}${problemNotice(problem, { seconds: t('clockBy'), to: t('clockNext') })}
<section class="card"><h2>${t('clockTitle')}</h2><p>${t('clockText')}</p>${clockFacts(clock, request)}${clockForms(clock, request)}</section>
<h2>${t('instrumentsTitle')}</h2><p>${t('instrumentsText')}</p>${table(
    t('instrumentsTitle'),
    [
      { label: t('instrument'), isTitle: true, cell: ({ name }) => html`<code>${name}</code>` },
      { label: t('method'), cell: ({ channel }) => texts.word('channel', channel) },
      { label: t('instrumentEffect'), cell: ({ label }) => label },
    ],
    SANDBOX_INSTRUMENTS,
  )}`
  return { title: t('testToolsTitle'), body, http: problem ? 422 : 200 }
}

function clockFacts(
  { advancedSeconds, lastAdvancedAt, nextDueAt, isCaughtUp }: Clock,
  request: ScreenRequest,
) {
  const { t, time } = request.texts
  const minutes = Math.floor(advancedSeconds / 60)
  const total = {
    days: Math.floor(minutes / 1440),
    hours: Math.floor(minutes / 60) % 24,
    minutes: minutes % 60,
  }
  return html`${!isCaughtUp && notice('wait', html`<p>${t('clockBusy')}</p>`)}${facts([
    [t('clockAdvanced'), t('clockTotal', total)],
    [t('clockLast'), lastAdvancedAt && time(lastAdvancedAt)],
    [t('clockNext'), nextDueAt ? time(nextDueAt) : t('clockNothing')],
  ])}`
}

function clockForms({ nextDueAt }: Clock, { allows, postForm, texts, form }: ScreenRequest): Html | null {
  const { t } = texts
  if (!allows('testClock.advance')) return null
  const action = `${TEST_PATH}/clock`
  const steps = STEPS.map((value) => ({ value, label: texts.word('clock', value) }))
  const toNext = html`<input type="hidden" name="to" value="${nextDueAt}"><button class="plain">${t('clockToNext')}</button>`
  return html`${postForm(action, html`<div class="filters">${select('seconds', t('clockBy'), form.seconds, steps)}<div class="go"><button>${t('clockAdvance')}</button></div></div>`)}
${nextDueAt !== null && postForm(action, toNext)}`
}

async function advance(request: ScreenRequest) {
  const { call, form, submission } = request
  try {
    const body = form.to ? { to: form.to } : { seconds: Number(form.seconds ?? '0') }
    await call('testClock.advance', { body, idempotencyKey: submission })
    return { redirectTo: `${TEST_PATH}?done=clock` }
  } catch (error) {
    if (error instanceof ApiError) return show(request, error)
    throw error
  }
}
