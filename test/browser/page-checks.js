// Runs inside a page, before its own script, and reports layout problems: most functions return a list of
// problems, empty if there are none. Lengths are CSS pixels; half a pixel is rounding.

globalThis.pageChecks = (() => {
  const SLACK = 0.5

  const all = (selector) => [...document.querySelectorAll(selector)]
  const isShown = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && element.closest('.visually-hidden') === null
  const boxOf = (element) => element.getBoundingClientRect()
  const nameOf = (element) => {
    const text = element.textContent.trim().replaceAll(/\s+/g, ' ').slice(0, 40)
    return `<${element.localName}${element.id && `#${element.id}`}${element.className && `.${element.classList[0]}`}> ${text}`
  }
  const pixels = (number) => Math.round(number * 10) / 10

  /** Expands closed details, so that they are checked too, with their own font. */
  const prepare = async () => {
    for (const details of all('details')) details.open = true
    await document.fonts.ready
  }

  const scrollsInside = (element) => element.closest('pre') !== null

  /** Elements that overflow the window at either side. */
  const overflow = () => {
    const { scrollWidth, clientWidth } = document.documentElement
    const page = scrollWidth === innerWidth ? [] : [`the page is ${scrollWidth} wide in ${clientWidth}`]
    const parts = all('body *')
      .filter((element) => isShown(element) && !scrollsInside(element))
      .filter((element) => boxOf(element).left < -SLACK || boxOf(element).right > innerWidth + SLACK)
      .map(
        (element) =>
          `${nameOf(element)} goes from ${pixels(boxOf(element).left)} to ${pixels(boxOf(element).right)}`,
      )
    return [...page, ...parts]
  }

  /** Text that its own box clips. */
  const cut = () =>
    all('body *')
      .filter((element) => isShown(element) && !scrollsInside(element))
      .filter((element) => getComputedStyle(element).overflow !== 'visible' && element.localName !== 'svg')
      // A select of the browser shows one line of its own.
      .filter(({ localName }) => localName !== 'select' && localName !== 'input')
      .filter(
        (element) => element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
      )
      .map((element) => `${nameOf(element)} is cut`)

  /** Text that overflows its button, card or notice. */
  const spilled = () =>
    texts()
      .filter(
        ({ node: { parentElement: parent } }) => parent.localName !== 'option' && !scrollsInside(parent),
      )
      .map(({ node }) => ({
        node,
        frame: node.parentElement.closest('button,.button,.notice,.way,.sheet,summary,.test'),
      }))
      .filter(({ frame }) => frame !== null)
      .filter(({ node, frame }) => {
        const text = rangeOf(node).getBoundingClientRect()
        const box = boxOf(frame)
        return (
          text.left < box.left - SLACK ||
          text.right > box.right + SLACK ||
          text.top < box.top - SLACK ||
          text.bottom > box.bottom + SLACK
        )
      })
      .map(({ node, frame }) => `"${node.data.trim()}" leaves ${nameOf(frame)}`)

  const MIN_TARGET = 24
  const MAIN_TARGET = 48

  /** Touch targets. A radio button is pressed by its label. */
  const targets = () =>
    all('a, button, input:not([type=hidden]), select, summary')
      // The switcher's names in other languages may need fonts that only their own pages have.
      .filter(
        (element) => isShown(element) && element.closest('[lang]').lang === document.documentElement.lang,
      )
      .flatMap((element) => {
        const { width, height } = boxOf(element.type === 'radio' ? (element.labels[0] ?? element) : element)
        const isMain = element.matches('button:not(.copy), .button, select, input, summary')
        const least = isMain ? MAIN_TARGET : MIN_TARGET
        if (height >= least - SLACK && width >= MIN_TARGET - SLACK) return []
        return [`${nameOf(element)} is ${pixels(width)} by ${pixels(height)}`]
      })

  /** The focused element must be visible: inside the window, and not covered. */
  const covered = () =>
    all('a, button, input, select, summary, [tabindex]')
      .filter((element) => isShown(element) && !element.disabled)
      .flatMap((element) => {
        element.focus()
        const box = boxOf(element)
        const middle = Math.min(Math.max((box.top + box.bottom) / 2, 0), innerHeight - 1)
        const top = document.elementFromPoint((box.left + box.right) / 2, middle)
        const isSeen =
          top !== null && (element.contains(top) || top.contains(element) || isLabelOf(top, element))
        if (isSeen && box.bottom > 0 && box.top < innerHeight) return []
        return [`${nameOf(element)} lies under ${top ? nameOf(top) : 'the edge of the window'}`]
      })

  const isLabelOf = (top, element) => [...(element.labels ?? [])].some((label) => label.contains(top))

  /** Sticky elements may take at most half of the window. */
  const sticky = () => {
    const held = all('body *').filter((element) =>
      ['fixed', 'sticky'].includes(getComputedStyle(element).position),
    )
    const height = held.filter(isShown).reduce((sum, element) => sum + boxOf(element).height, 0)
    return height > innerHeight / 2 ? [`${pixels(height)} of ${innerHeight} stay covered`] : []
  }

  function rangeOf(node, from = 0, to = node.data.length) {
    const range = document.createRange()
    range.setStart(node, from)
    range.setEnd(node, to)
    return range
  }

  /** The visible texts with their declared language. */
  function texts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const found = []
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const { parentElement: parent } = node
      const isWritten =
        parent.closest('option') !== null ? isShown(parent.closest('select')) : isShown(parent)
      if (node.data.trim() !== '' && isWritten) found.push({ node, lang: parent.closest('[lang]').lang })
    }
    return found
  }

  /** All texts of the page in its own language: title, text, and labels for screen readers. */
  const words = () => {
    const { lang } = document.documentElement
    const names = all('[aria-label], [alt], [title], [placeholder]')
      .filter((element) => element.closest('[lang]').lang === lang)
      .flatMap((element) =>
        ['aria-label', 'alt', 'title', 'placeholder'].map((name) => element.getAttribute(name)),
      )
      .filter(Boolean)
    const written = texts().filter((text) => text.lang === lang)
    return [document.title, ...names, ...written.map(({ node }) => node.data)].map((text) => text.trim())
  }

  // An amount, an account or phone number, a code to dial, a reference: each must read from left to right.
  const IN_ORDER = /(?:[A-Z][A-Za-z]+\u00a0|₦|US\$)[\d,.]+|\+?[\d•][\d• ]{5,}[\d•]|[*#][\d*]+#|ref-[\w-]+/g

  const ordered = () =>
    texts().flatMap(({ node }) =>
      [...node.data.matchAll(IN_ORDER)].map(({ 0: text, index }) => {
        const first = rangeOf(node, index, index + 1).getBoundingClientRect()
        const last = rangeOf(node, index + text.length - 1, index + text.length).getBoundingClientRect()
        return { text, isInOrder: first.left < last.left || first.top < last.top }
      }),
    )

  /** Right-to-left layout: text starts at the right edge, and a preceding element is on its right. */
  const mirrored = () => {
    const problems = []
    const { direction } = getComputedStyle(document.documentElement)
    if (document.documentElement.dir !== 'rtl' || direction !== 'rtl')
      problems.push('the page is not right to left')
    for (const block of all('h1, main p, dt, legend, .fields label').filter(isShown)) {
      if (['center', 'left'].includes(getComputedStyle(block).textAlign) || block.matches('[dir=ltr] *'))
        continue
      const box = boxOf(block)
      const { paddingRight, borderRightWidth } = getComputedStyle(block)
      const edge = box.right - Number.parseFloat(paddingRight) - Number.parseFloat(borderRightWidth)
      const lines = [...contentsOf(block).getClientRects()].filter(({ width }) => width > 1)
      const right = Math.max(...lines.map((line) => line.right))
      if (Math.abs(edge - right) > 2)
        problems.push(`${nameOf(block)} starts at ${pixels(right)}, not ${pixels(edge)}`)
    }
    // The button of a network covers its radio button.
    for (const radio of all('input[type=radio]:not(.networks *)').filter(isShown)) {
      const label = radio.labels[0].querySelector('span') ?? radio.labels[0]
      if (boxOf(radio).left < boxOf(label).right)
        problems.push(`${nameOf(label)} has its radio button on the left`)
    }
    return problems
  }

  function contentsOf(element) {
    const range = document.createRange()
    range.selectNodeContents(element)
    return range
  }

  const height = () => document.documentElement.scrollHeight

  /** The spacing that WCAG 1.4.12 lets every reader set. */
  const spaceOut = () => {
    const rules = [
      '*{line-height:1.5!important;letter-spacing:.12em!important;word-spacing:.16em!important}',
      'p{margin-bottom:2em!important}',
    ]
    for (const rule of rules)
      document.styleSheets[0].insertRule(rule, document.styleSheets[0].cssRules.length)
  }

  /** Rules of axe that are violated or undecided, each with the elements. */
  const broken = async (rules) => {
    const only = rules && { runOnly: { type: 'rule', values: rules } }
    const options = { resultTypes: ['violations', 'incomplete'], preload: false, ...only }
    const { violations, incomplete } = await globalThis.axe.run(document, options)
    return [...violations, ...incomplete].map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
    )
  }

  /** Replaces texts of the page, for pictures: pairs of a pattern and its replacement. */
  const replace = (pairs) => {
    for (const { node } of texts())
      for (const [pattern, text] of pairs) node.data = node.data.replace(new RegExp(pattern), text)
  }

  /** All checks that do not depend on the dark scheme. */
  const everything = async () => {
    const problems = [...(await broken()), ...layout()]
    if (document.documentElement.lang === 'ar') problems.push(...mirrored())
    return { problems, words: words() }
  }

  const layout = () => [...overflow(), ...cut(), ...spilled(), ...targets(), ...sticky(), ...covered()]

  return {
    broken,
    everything,
    height,
    layout,
    mirrored,
    prepare,
    ordered,
    replace,
    spaceOut,
    words,
  }
})()
