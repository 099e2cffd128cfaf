// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables look like template strings.
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import { stringify } from "yaml"
import { Secret } from "../content.ts"
import { defaulted, exactlyOneOf } from "../field.ts"
import { Duration, PortNumber } from "../primitives.ts"
import { type Input, load } from "./load.ts"
import { formatPath, parsePath } from "./path.ts"
import { formatGithub, formatJson, formatLine, formatText, type Problem } from "./problem.ts"

const File = Schema.Struct({
  gateways: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({ port: PortNumber, mode: Schema.optionalKey(Schema.Literals(["strict", "optional"])) })
    )
  ),
  timeout: Schema.optionalKey(Duration),
  key: Schema.optionalKey(Secret),
  names: Schema.optionalKey(Schema.Array(Schema.String)),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  rule: Schema.optionalKey(
    Schema.Union([Schema.String, exactlyOneOf("Rule", "A rule.", { allow: Schema.String, deny: Schema.String })])
  ),
  free: Schema.optionalKey(Schema.Json)
})

const read = (text: string, options?: Partial<Input>) => load({ name: "config.yaml", text, env: {}, ...options }, File)

const lines = (text: string, options?: Partial<Input>): ReadonlyArray<string> => {
  const loaded = read(text, options)
  return loaded.ok ? [] : loaded.problems.map(formatLine)
}

const value = (text: string, options?: Partial<Input>) => {
  const loaded = read(text, options)
  return loaded.ok ? loaded.value : assert.fail(formatText(loaded.problems))
}

describe("environment expansion", () => {
  const env = { PORT: "3000", EMPTY: "", NAME: "a-b" }

  it("replaces every form of a reference", () => {
    const text =
      "gateways: {x: {port: $PORT}, y: {port: ${PORT}}, z: {port: ${NONE:-80}}, w: {port: '${EMPTY:-81}'}}\nnames: [$$, $, a$, $5, '^a$', ${NAME}s]"
    const loaded = read(text.replace("'${EMPTY:-81}'", "${EMPTY:-81}"), { env })
    assert.deepStrictEqual(loaded.ok && loaded.value, {
      gateways: { x: { port: 3000 }, y: { port: 3000 }, z: { port: 80 }, w: { port: 81 } },
      names: ["$", "$", "a$", "$5", "^a$", "a-bs"]
    })
  })

  it("refuses a variable that is not set, also in a comment, and goes on", () => {
    assert.deepStrictEqual(lines("timeout: $T # see $DOC\nname: x\n"), [
      "config.yaml:1:10: timeout: environment variable T is not set (a literal dollar sign is written $$)",
      "config.yaml:1:19: environment variable DOC is not set (a literal dollar sign is written $$)",
      "config.yaml:2:1: name: unknown key, did you mean names?"
    ])
  })

  it("refuses braces that hold no name", () => {
    assert.deepStrictEqual(lines("names: ['${a b}', '${']"), [
      "config.yaml:1:10: names[0]: expected a variable name in the braces (a literal dollar sign is written $$)",
      "config.yaml:1:20: names[1]: the brace is not closed on its line (a literal dollar sign is written $$)"
    ])
  })

  it("leaves the comment that names the schema alone", () => {
    assert.deepStrictEqual(value("# yaml-language-server: $schema=https://example.com/schema.json\ntimeout: 1s"), {
      timeout: 1000
    })
  })

  it("replaces a tilde at the start of a value", () => {
    const text = "names: [~/a, '~/b', a~/c, ~x]\nheaders:\n  x: ~/d"
    const expected = { names: ["/home/me/a", "/home/me/b", "a~/c", "~x"], headers: { x: "/home/me/d" } }
    assert.deepStrictEqual(value(text, { home: "/home/me" }), expected)
    assert.deepStrictEqual(value("names: [~/a]"), { names: ["~/a"] })
  })

  it("takes nothing from the prototype of the environment", () => {
    assert.match(lines("names: [$toString]").join(), /toString is not set/)
  })
})

describe("documents", () => {
  it("an empty file configures nothing", () => {
    for (const text of ["", "\n", "# only a comment\n", "---\n", "{}"])
      assert.deepStrictEqual(value(text), {}, JSON.stringify(text))
  })

  it("a key without a value is not set", () =>
    assert.deepStrictEqual(value("gateways:\nkey: ~\nfree:"), { free: null }))

  it("anchors and aliases work, merge keys do not", () => {
    assert.deepStrictEqual(value("gateways: {a: &g {port: 1}, b: *g}"), {
      gateways: { a: { port: 1 }, b: { port: 1 } }
    })
    assert.deepStrictEqual(lines("gateways: {a: &g {port: 1}, b: {<<: *g}}"), [
      "config.yaml:1:33: merge keys are not supported; use an alias for the whole value, or write the fields"
    ])
  })

  it("a repeated key is an error", () => {
    assert.deepStrictEqual(lines("timeout: 1s\ntimeout: 2s"), [
      "config.yaml:2:1: timeout: the key is repeated: it stands before, too; keep one"
    ])
    assert.deepStrictEqual(lines("headers: {a: x, a: y}"), [
      "config.yaml:1:17: headers.a: the key is repeated: it stands before, too; keep one"
    ])
  })

  it("one document, string keys, no tags of one's own", () => {
    assert.deepStrictEqual(lines("timeout: 1s\n---\ntimeout: 2s"), [
      "config.yaml:2:1: a file holds one document; remove the --- line"
    ])
    assert.deepStrictEqual(lines("? [a]\n: 1"), ["config.yaml:1:3: a key must be a string"])
    assert.deepStrictEqual(lines("timeout: !x 1s"), [
      "config.yaml:1:10: unknown tag, or a value that does not fit its tag"
    ])
    assert.deepStrictEqual(value("headers: {1: a, true: b}"), { headers: { "1": "a", true: "b" } })
  })

  it("size, depth and aliases are bounded", () => {
    assert.deepStrictEqual(lines("names: [a]", { limits: { size: 5 } }), [
      "config.yaml:1:1: the text is longer than 5 characters"
    ])
    assert.match(lines(`names: ${"[".repeat(100_000)}`).join(), /nested more than 100 levels deep/)
    assert.match(lines("- ".repeat(10_000)).join(), /nested more than 100 levels deep/)
    const bomb = [..."bcdefghij"].map(
      (name, index) => `${name}: &${name} [${Array(10).fill(`*${"abcdefghi"[index]}`).join(",")}]`
    )
    assert.match(lines(`a: &a [x]\n${bomb.join("\n")}`).join(), /more than 1000000 values/)
    assert.match(lines("names: &n [*n]").join(), /there is no anchor of this name before it/)
  })
})

describe("decoding", () => {
  it("reports every problem with its place, in the order of the text", () => {
    const text =
      "gateways:\n  a:\n    port: 70000\n    mode: strct\n  b: {}\ntimeout: 5\nkye: x\nrule: {alow: x}\nnames: x"
    assert.deepStrictEqual(lines(text), [
      "config.yaml:3:11: gateways.a.port: expected a port between 1 and 65535",
      'config.yaml:4:11: gateways.a.mode: expected one of "strict", "optional"; did you mean "strict"?',
      "config.yaml:5:3: gateways.b.port: required",
      "config.yaml:6:10: timeout: expected a duration such as 10s, 1h30m or 250ms, got a number",
      "config.yaml:7:1: kye: unknown key, did you mean key?",
      "config.yaml:8:8: rule.alow: unknown key, did you mean allow?",
      "config.yaml:9:8: names: expected a list, got a string; write it in [ ]"
    ])
  })

  it("takes a key that is close to one that is missing for it, where the value could be its", () => {
    const lines = (text: string) => {
      const key = Schema.Struct({
        port: PortNumber,
        protocol: Schema.optionalKey(Schema.String),
        portal: Schema.optionalKey(Schema.Number)
      })
      const loaded = load({ name: "c", text, env: {} }, key)
      return loaded.ok ? [] : loaded.problems.map(formatLine)
    }
    assert.deepStrictEqual(lines("prot: 3000"), ["c:1:1: prot: unknown key, did you mean port?"])
    const preset = Schema.Struct({
      port: defaulted(PortNumber, 1, "The port."),
      protocol: Schema.optionalKey(Schema.Number)
    })
    const withDefault = load({ name: "c", text: "prot: 3000", env: {} }, preset)
    assert.deepStrictEqual(
      withDefault.ok ? [] : withDefault.problems.map(formatLine),
      ["c:1:1: prot: unknown key, did you mean protocol?"],
      "what has a default is not missing"
    )
    assert.deepStrictEqual(lines("prot: HTTP"), [
      "c:1:1: prot: unknown key, did you mean protocol?",
      "c:1:1: port: required"
    ])
    assert.deepStrictEqual(lines("port: 1\nprot: 3000"), ["c:2:1: prot: unknown key, did you mean protocol?"])
    assert.deepStrictEqual(lines("prtal: 3000"), [
      "c:1:1: prtal: unknown key, did you mean portal?",
      "c:1:1: port: required"
    ])
    assert.deepStrictEqual(lines("prtcl: 3000"), [
      "c:1:1: prtcl: unknown key; known are port, protocol, portal",
      "c:1:1: port: required"
    ])
  })

  it("of a union only the alternative that was meant is explained", () => {
    assert.deepStrictEqual(lines("rule: 3"), [
      "config.yaml:1:7: rule: expected a string or an object, got a number; put it in quotes"
    ])
    assert.deepStrictEqual(lines("rule: {}"), ["config.yaml:1:7: rule: expected exactly one of allow, deny"])
    assert.deepStrictEqual(lines("rule: {allow: x, deny: y}"), [
      "config.yaml:1:7: rule: expected exactly one of allow, deny, got allow and deny"
    ])
  })

  it("secrets decode to Redacted", () => {
    const { key } = value("key: $K", { env: { K: "hush" } })
    assert.isTrue(Redacted.isRedacted(key))
  })
})

describe("excerpts", () => {
  const excerpt = (text: string, options?: Partial<Input>) => {
    const loaded = read(text, options)
    return loaded.ok ? [] : loaded.problems.map((problem) => problem.excerpt?.split("\n")[0])
  }

  it("show known values and keys, and mask the rest", () => {
    assert.deepStrictEqual(excerpt("timeout: 5x # why 5x"), ["timeout: 5x # …"])
    assert.deepStrictEqual(excerpt("tmeout: 5s"), ["tmeout: …"])
    assert.deepStrictEqual(excerpt("{key: hush, timeout: 5x, headers: {x: hush}, rule: {free: hush}}"), [
      "{key: …, timeout: 5x, headers: {x: …}, rule: {free: …}}",
      "{key: …, timeout: 5x, headers: {x: …}, rule: {free: …}}"
    ])
  })

  it("show the reference, not what it stands for", () => {
    assert.deepStrictEqual(excerpt("timeout: $T", { env: { T: "hush" } }), ["timeout: $T"])
    assert.deepStrictEqual(excerpt("timeout: ${T:-hush}"), ["timeout: …"])
    assert.deepStrictEqual(excerpt("key: [$T]", { env: { T: "hush" } }), ["key: [$T]"])
  })

  it("of a text that cannot be parsed show the key at most", () => {
    assert.deepStrictEqual(excerpt("key: @hush"), ["key: …"])
    assert.deepStrictEqual(excerpt("hush @: {"), ["…"])
  })

  it("of a long line show the part that matters", () => {
    const [line] = excerpt(`{names: [${"a, ".repeat(200)}], timeout: 5x, free: [${"a, ".repeat(200)}]}`)
    assert.match(line!, /^….* timeout: 5x.*…$/)
    assert.isBelow(line!.length, 110)
  })

  it("never show a secret, wherever the problem is", () => {
    const places = [
      "key: [hush]",
      "key: {x: hush}",
      "key: hush\ntimeout: 1x",
      "kye: hush",
      "headers: {a: [hush]}",
      "key: 'hush",
      "- hush",
      "key: |\n  hush\n x"
    ]
    for (const text of places) {
      const loaded = read(text)
      assert.isFalse(loaded.ok)
      if (!loaded.ok) assert.notInclude(formatJson(loaded.problems), "hush", text)
    }
  })
})

describe("positions", () => {
  it("values are found, blocks at their key, and what is missing at its parent", () => {
    const loaded = read("gateways:\n  a:\n    port: 1\nnames:\n- x\n- y\n")
    if (!loaded.ok) return assert.fail(formatText(loaded.problems))
    const { at, keyAt } = loaded.positions
    assert.deepStrictEqual(at("gateways.a.port"), { line: 3, column: 11 })
    assert.deepStrictEqual(keyAt("gateways.a.port"), { line: 3, column: 5 })
    assert.deepStrictEqual(at(["gateways", "a"]), { line: 2, column: 3 })
    assert.deepStrictEqual(at("names[1]"), { line: 6, column: 3 })
    assert.deepStrictEqual(at("gateways.a.tls.cert"), { line: 2, column: 3 })
    assert.deepStrictEqual(at(""), { line: 1, column: 1 })
  })

  const Word = Schema.String.check(Schema.isPattern(/^[a-z]{1,12}$/u))
  const Reference = Schema.Struct({
    name: Schema.Literals(["V", "LONG", "EMPTY"]),
    form: Schema.Literals(["$", "${", "text"]),
    word: Word
  })

  it.prop(
    "survive expansion",
    { references: Schema.Array(Reference).check(Schema.isMaxLength(8)) },
    ({ references }) => {
      const env = { V: "x", LONG: "a much longer value", EMPTY: "" }
      const written = references.map(({ form, name, word }) =>
        form === "text" ? word : form === "$" ? `$${name}` : `\${${name}:-${word}}`
      )
      // Two on a line: the second one moves when the first one is replaced.
      const text = written
        .map((each, index) => `${index % 2 === 0 ? "\n- [" : ", "}"${each}"${index % 2 === 0 ? "" : "]"}`)
        .join("")
      const whole = `free:${text}${references.length % 2 === 1 ? "]" : ""}`
      const loaded = read(whole, { env })
      if (!loaded.ok) return assert.fail(formatText(loaded.problems))
      references.forEach((_, index) => {
        const { line, column } = loaded.positions.at(["free", Math.floor(index / 2), index % 2])
        const found = whole.split("\n")[line - 1]!.slice(column - 1)
        assert.isTrue(found.startsWith(`"${written[index]}"`), `${found} is not ${written[index]}`)
      })
    }
  )

  const Step = Schema.Union([Schema.String, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))])

  it.prop("a written path is read back", { path: Schema.Array(Step) }, ({ path }) =>
    assert.deepStrictEqual(parsePath(formatPath(path)), path)
  )
})

describe("laws", () => {
  const decode = (text: string, name: string) => load({ name, text, env: {} }, Schema.Json)

  it.prop(
    "JSON and YAML of the same value decode equally",
    { json: Schema.Record(Schema.String, Schema.Json) },
    ({ json }) => {
      if (/[$~]|__proto__|"<<"/.test(JSON.stringify(json))) return
      const same = JSON.parse(JSON.stringify(json))
      const texts = [
        JSON.stringify(same),
        JSON.stringify(same, null, 2),
        JSON.stringify(same, null, "\t"),
        stringify(same)
      ]
      for (const text of texts) {
        const loaded = decode(text, "config")
        assert.deepStrictEqual(loaded.ok ? loaded.value : formatText(loaded.problems), same, text)
      }
    }
  )

  const Piece = Schema.Literals([
    "gateways",
    "port",
    "key",
    "rule",
    ":",
    " ",
    "\n",
    "  ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "'",
    '"',
    "|",
    ">",
    "&a",
    "*a",
    "!!str",
    "!x",
    "#",
    "$",
    "${",
    "${X:-",
    "$X",
    "~/",
    "%YAML 9",
    "---",
    "...",
    "\t",
    "?",
    "\\",
    "\u0000",
    "\ud800",
    "é",
    "1e999",
    "<<",
    "\r",
    "\ufeff",
    "0x1"
  ])

  it.prop(
    "no text makes it throw, and every problem lies inside the text",
    { pieces: Schema.Array(Piece) },
    ({ pieces }) => {
      const text = pieces.join("")
      const loaded = read(text, { env: { X: "a: [" } })
      if (loaded.ok) return
      const rows = text.split("\n")
      assert.isAbove(loaded.problems.length, 0)
      for (const problem of loaded.problems) {
        assert.isAtMost(problem.line, rows.length)
        assert.isAtMost(problem.column, rows[problem.line - 1]!.length + 1)
      }
    },
    { arbitrary: { runs: 1500, size: 60 } }
  )
})

describe("printing", () => {
  const problem: Problem = {
    file: "a,b.yaml",
    line: 2,
    column: 3,
    path: "routes[0]",
    message: "100%\nwrong",
    severity: "error",
    excerpt: "x: y\n   ^"
  }

  it("as text, JSON and annotations", () => {
    assert.strictEqual(formatText([problem]), "a,b.yaml:2:3: routes[0]: 100%\nwrong\n    x: y\n       ^")
    assert.deepStrictEqual(JSON.parse(formatJson([problem])), [problem])
    assert.strictEqual(formatGithub([problem]), "::error file=a%2Cb.yaml,line=2,col=3,title=routes[0]::100%25%0Awrong")
    assert.strictEqual(
      formatLine({ ...problem, severity: "warning", code: "never-matches", message: "no" }),
      "a,b.yaml:2:3: warning: routes[0]: no [never-matches]"
    )
  })
})
