// The invariants of the money as the last check found them. A check reads the whole database, so it has a button.

import { type Html, html } from '../../kit/http/html.ts'
import { badge, notice, table } from '../frame/components.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'

interface LastCheck {
  invariantsCheckedAt: string | null
  invariants: { name: string; violations: number }[]
}

const PATH = '/ops/doctor'

export const doctorScreens: Screen<AreaRequest>[] = [
  { method: 'GET', path: '/doctor', needs: ['invariants.check', 'jobs.get'], handle: show },
  {
    method: 'POST',
    path: '/doctor',
    needs: ['invariants.check'],
    handle: async ({ call }) => {
      await call('invariants.check')
      return { redirectTo: PATH }
    },
  },
]

async function show(request: AreaRequest) {
  const { texts, postForm } = request
  const { t } = texts
  const check = await dataOf<LastCheck>(request, 'jobs.get')
  const title = t('opsDoctorTitle')
  const form = postForm(PATH, html`<button>${t('opsCheckNow')}</button>`)
  const body = html`<div class="head"><h1>${title}</h1><div class="actions">${form}</div></div>
${check.invariantsCheckedAt === null ? notice('wait', html`<p>${t('opsNeverChecked')}</p>`) : found(check, request)}`
  return { title, body }
}

function found({ invariants, invariantsCheckedAt }: LastCheck, { texts }: AreaRequest): Html {
  const { t } = texts
  const violated = invariants.filter(({ violations }) => violations > 0).length
  return html`${violated === 0 ? notice('good', html`<p>${t('opsIntact')}</p>`) : notice('bad', html`<p>${t('opsViolated', { count: violated })}</p>`)}
<p class="dim">${t('opsLastCheck')} ${texts.time(invariantsCheckedAt)}</p>
${table(
  t('opsDoctorTitle'),
  [
    { label: t('opsInvariant'), isTitle: true, cell: ({ name }) => html`<code>${name}</code>` },
    { label: t('status'), cell: ({ violations }) => badge(texts, violations === 0 ? 'ok' : 'violated') },
    { label: t('opsViolations'), isNumber: true, cell: ({ violations }) => texts.number(violations) },
  ],
  invariants,
)}`
}
