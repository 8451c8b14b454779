// The first screen of operators: what needs attention, and the backlog of the background jobs.

import { type Html, html } from '../../kit/http/html.ts'
import { notice, table } from '../frame/components.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { dataOf } from './data.ts'

interface Job {
  name: string
  due: number
  oldestDueAt: string | null
}

interface State {
  jobs: Job[]
  deliveries: { pending: number; oldestPendingAt: string | null; failingEndpoints: number }
  openCases: { merchant: number; operator: number }
  invariantsCheckedAt: string | null
}

// A job that keeps up takes what is due within seconds.
const LATE_MS = 5 * 60_000

export const stateScreen: Screen<AreaRequest> = {
  method: 'GET',
  path: '',
  needs: ['jobs.get'],
  handle: async (request) => {
    const { texts, now } = request
    const { t } = texts
    const state = await dataOf<State>(request, 'jobs.get')
    const title = t('opsStateTitle')
    const body = html`<div class="head"><h1>${title}</h1></div>
<section><h2>${t('attentionTitle')}</h2>${attention(state, texts, now)}</section>
<section><h2>${t('opsJobsTitle')}</h2>${jobsTable(state.jobs, texts)}</section>`
    return { title, body }
  },
}

function attention(
  { jobs, deliveries, openCases, invariantsCheckedAt }: State,
  { t }: Texts,
  now: Date,
): Html {
  const late = jobs.filter(
    ({ oldestDueAt }) => oldestDueAt !== null && now.getTime() - Date.parse(oldestDueAt) > LATE_MS,
  )
  const lines = [
    openCases.operator > 0 &&
      html`<p>${t('opsCasesWait', { count: openCases.operator })} <a href="/ops/cases?owner=operator">${t('look')}</a></p>`,
    ...late.map(({ name }) => html`<p>${t('opsJobLate', { name })}</p>`),
    deliveries.failingEndpoints > 0 &&
      html`<p>${t('opsEndpointsFail', { count: deliveries.failingEndpoints })}</p>`,
    invariantsCheckedAt === null &&
      html`<p>${t('opsNeverChecked')} <a href="/ops/doctor">${t('look')}</a></p>`,
  ].filter((line) => line !== false)
  return lines.length === 0
    ? notice('good', html`<p>${t('attentionNone')}</p>`)
    : html`${lines.map((line) => notice('wait', line))}`
}

function jobsTable(jobs: readonly Job[], texts: Texts): Html {
  const { t } = texts
  return table(
    t('opsJobsTitle'),
    [
      { label: t('opsJob'), isTitle: true, cell: ({ name }) => html`<code>${name}</code>` },
      { label: t('opsDue'), isNumber: true, cell: ({ due }) => texts.number(due) },
      { label: t('opsDueSince'), cell: ({ oldestDueAt }) => texts.time(oldestDueAt) },
    ],
    jobs,
  )
}
