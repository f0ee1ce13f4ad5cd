package cli

type configCommand struct {
	JSON bool `help:"Print JSON."`
}

func (c configCommand) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	return cfg.Dump(a.out, c.JSON)
}
