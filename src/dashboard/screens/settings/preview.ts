// The head of the checkout with the merchant's name, logo and colours. The content security policy allows no frame and no
// style attribute, so the colours are in a style element with the nonce of the page.

import { withoutControls } from '../../../core/text/direction.ts'
import { paletteOf } from '../../../kit/http/accent.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { readLogo } from '../../../merchants/logo.ts'
import type { MerchantSettings } from '../../../merchants/schema.ts'
import { written } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'

type Branding = MerchantSettings['branding']

const EXAMPLE_AMOUNT = '1250.00'

export function checkoutPreview(request: ScreenRequest, branding: Branding): Html {
  const { t } = request.texts
  const { light, dark } = paletteOf(branding.accentColor)
  return html`<style nonce="${request.styleNonce}">
.preview.light { --preview-accent: ${light.accent}; --preview-on: ${light.onAccent}; }
.preview.dark { --preview-accent: ${dark.accent}; --preview-on: ${dark.onAccent}; }
</style>
<section class="card"><h2>${t('previewTitle')}</h2>
<p class="dim">${t('previewLight')}</p><div class="preview light">${head(request, branding)}</div>
<p class="dim">${t('previewDark')}</p><div class="preview dark">${head(request, branding)}</div></section>`
}

function head({ texts, person: { merchant } }: ScreenRequest, branding: Branding): Html {
  const { t } = texts
  const name = branding.displayName ?? merchant.name
  const { supportEmail, supportPhone, supportUrl } = branding
  const contacts = [supportEmail, supportPhone, supportUrl].filter((contact) => contact !== null)
  const amount = texts.amount(EXAMPLE_AMOUNT, merchant.baseCurrency)
  return html`<div class="preview-brand">${mark(branding.logo, name)}${written(name)}</div>
<span class="preview-button">${t('previewPay', { amount })}</span>
<p class="preview-help">${t('previewHelp', { name: withoutControls(name) })} ${contacts.map(
    (contact) => html`<span class="preview-link"><bdi dir="ltr">${contact}</bdi></span> `,
  )}</p>`
}

function mark(logo: string | null, name: string): Html {
  if (logo !== null && typeof readLogo(logo) !== 'string')
    return html`<img src="${logo}" alt="" width="44" height="44">`
  const [first = ''] = withoutControls(name).trim()
  return html`<span class="preview-mark" aria-hidden="true">${first.toUpperCase()}</span>`
}
