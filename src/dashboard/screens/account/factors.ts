// The authenticator app: its secret as a QR code and the recovery codes, each shown once.

import { type Html, html, trustedHtml } from '../../../kit/http/html.ts'
import { drawQr } from '../../../kit/qr.ts'
import { PeopleError } from '../../../people/errors.ts'
import { field, notice } from '../../frame/components.ts'
import type { AreaRequest, Screen, ScreenResponse } from '../../frame/screen.ts'
import { accountPath, onAccount, ownAccount } from './account.ts'

const COMMON = { method: 'POST', needs: [], stepUp: true } as const

export const factorScreens: Screen<AreaRequest>[] = [
  { ...COMMON, path: '/account/totp', handle: (request) => onAccount(request, () => start(request)) },
  { ...COMMON, path: '/account/totp/confirm', handle: (request) => confirm(request) },
  {
    ...COMMON,
    path: '/account/totp/remove',
    handle: (request) =>
      onAccount(request, async () => {
        await request.change(() => ownAccount(request).removeTotp())
        return { redirectTo: `${accountPath(request)}?done=saved` }
      }),
  },
  {
    ...COMMON,
    path: '/account/recovery-codes',
    handle: (request) =>
      onAccount(request, async () =>
        codesPage(request, await request.change(() => ownAccount(request).renewRecoveryCodes())),
      ),
  },
]

async function start(request: AreaRequest): Promise<ScreenResponse> {
  const { app, change, texts } = request
  const { t } = texts
  const { secret, uri } = await change(() => ownAccount(request).startTotp(new URL(app.publicUrl()).hostname))
  // Our own drawing: the QR code has no text of the input.
  const qr = trustedHtml(drawQr(uri))
  return page(
    request,
    html`<p>${t('totpScan')}</p><div class="qr">${qr}</div><p>${t('totpType')} <code class="mono">${secret}</code></p>`,
  )
}

function page(request: AreaRequest, intro: Html, problem?: PeopleError): ScreenResponse {
  const { texts, postForm } = request
  const { t } = texts
  const body = html`<div class="head"><h1>${t('totpTitle')}</h1></div>
${problem && notice('bad', html`<p>${texts.word('people', problem.code)}</p>`)}
<section class="card">${intro}${postForm(
    `${accountPath(request)}/totp/confirm`,
    html`${field('code', t('totpFirstCode'), { isRequired: true, autocomplete: 'one-time-code', inputmode: 'numeric' })}<button>${t('totpConfirm')}</button>`,
  )}<p><a href="${accountPath(request)}">${t('back')}</a></p></section>`
  return { title: t('totpTitle'), body, http: problem?.http ?? 200 }
}

/** The secret is not shown again: after a wrong code the person uses the entry that the app has already. */
async function confirm(request: AreaRequest): Promise<ScreenResponse> {
  const { change, form, texts } = request
  try {
    return codesPage(request, await change(() => ownAccount(request).confirmTotp(form.code ?? '')))
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return page(request, html`<p>${texts.t('totpAgain')}</p>`, error)
  }
}

function codesPage(request: AreaRequest, codes: readonly string[]): ScreenResponse {
  const { t } = request.texts
  const grouped = codes.map((code) => code.replaceAll(/(.{4})(?=.)/g, '$1-'))
  const body = html`<div class="head"><h1>${t('codesTitle')}</h1></div><section class="card"><p>${t('codesText')}</p>
<ul class="mono">${grouped.map((code) => html`<li><code>${code}</code></li>`)}</ul><p><a class="button" href="${accountPath(request)}">${t('codesKept')}</a></p></section>`
  return { title: t('codesTitle'), body }
}
